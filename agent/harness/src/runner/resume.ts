/**
 * Resumes a claimed session (contract 7, 8): it is recovered if a runner left it behind, a rollback that is
 * owed goes before everything else, and its turn runs from the log until it rests.
 *
 * A runtime exception is recorded as harness.crash and retried in place, under the same lease; the same one
 * three times in a row fails the session. A lost lease ends the turn silently.
 */
import type { Claim } from '@cairn/log'
import { type Backoff, backoffMs } from '@cairn/models/backoff'
import { sleep } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import { AppError, asError, type EventData } from '@cairn/protocol'
import { commitEnd, sessionFailed, workspaceOf } from '@cairn/sessions'
import { sessionFolder } from '@cairn/workspace'
import { bindAsks, goesFirst } from '../capabilities/index.ts'
import { sessionRecovered, sessionWoken, turnCrashed } from '../events.ts'
import { ConfigurationError, setUpAgent } from '../governance/agent.ts'
import type { RunnerDeps } from '../runner-deps.ts'
import { workspaceMask } from '../tools/workspace-mask.ts'
import { atRest, cameMeanwhile, type Rest } from '../turn/at-rest.ts'
import type { Capability, Claimed, ClaimWork, Turn } from '../turn/capability.ts'
import { makeFolders, writtenBy } from '../turn/folders.ts'
import { Draining, type Lease } from '../turn/lease.ts'
import { runTurn } from '../turn/run-turn.ts'
import { type LogHooks, openSessionLog } from '../turn/session-log.ts'
import { openTools } from '../turn/tool-owner.ts'
import { abandon, type LeaseReleaseRetry, releaseLease, watchLease } from './lease.ts'
import { openScope, type OpenScope } from './scope.ts'
import type { SnapshotCache } from './snapshots.ts'

export type ResumeDeps = {
  runner: RunnerDeps
  snapshots: SnapshotCache
  releaseRetry: LeaseReleaseRetry
  /** The capabilities of this claim. */
  openCapabilities: (claimed: Claimed, runner: RunnerDeps) => Promise<readonly Capability[]>
}

/** A claimed session with its capabilities. */
type Resumed = {
  runner: RunnerDeps
  agent_version: number | undefined
  claim: Claim
  claimed: Claimed
  capabilities: readonly Capability[]
  /**
   * A rollback, which goes before the turn. It is never abandoned, however often a runner crashed over it:
   * each of its steps is tried once, so it ends.
   */
  owed: ClaimWork | undefined
  /** The additions of the capabilities when the session comes to rest. */
  rest: () => Promise<Rest>
}

/**
 * Never rejects: an error is reported, and the next runner handles the session. The lease is released on
 * shutdown and kept after an exception. `onStarted` is called when a model is called.
 */
export async function resume(
  deps: ResumeDeps,
  claim: Claim,
  lease: Lease,
  onStarted: () => void,
): Promise<void> {
  const { runner, snapshots } = deps
  const report: Logger = (level, message, fields) =>
    runner.logger(level, message, { session_id: lease.session_id, ...fields })
  const unwatch = watchLease(runner.store, lease, report)
  let saveSnapshot = (): void => undefined
  let release = saveSnapshot
  try {
    const fold = await snapshots.begin(claim.session, report)
    const log = await openSessionLog(runner.store, claim, lease, fold.position, {
      onGrown(position) {
        if (position.turn.requested) onStarted()
        snapshots.moved(fold, position, lease, report)
      },
      ...commitEndOf(runner, claim, report),
    })
    saveSnapshot = () => snapshots.keep(lease.session_id, Object.assign(fold, { position: log.position() }))
    const scope = await openScope(runner, claim.session)
    release = scope.release
    const resumed = await openClaimed(deps, scope, claim, { lease, log, report })
    if (!(await recover(resumed))) return
    if (await rollBackOwed(resumed)) return
    wake(resumed)
    await runUntilRest(resumed)
    followUp(resumed)
  } catch (error) {
    abandon(lease, error, deps.releaseRetry, report)
  } finally {
    unwatch()
    saveSnapshot()
    release()
    if (lease.signal.reason instanceof Draining) await releaseLease(runner.store, lease, report)
  }
}

async function openClaimed(
  { openCapabilities }: ResumeDeps,
  { runner, agent_version }: OpenScope,
  claim: Claim,
  { lease, log, report }: Pick<Claimed, 'lease' | 'log' | 'report'>,
): Promise<Resumed> {
  const { session, link } = claim
  const makeOwn = () => makeFolders(runner, session, lease.signal)
  const claimed: Claimed = { session, link, lease, log, report, makeFolders: makeOwn }
  const capabilities = await openCapabilities(claimed, runner)
  const { store, newId } = runner
  return {
    runner,
    agent_version,
    claim,
    claimed,
    capabilities,
    owed: capabilities.find(({ atClaim }) => atClaim?.isDue(log.position()))?.atClaim,
    rest: () => atRest(capabilities, { log, store, newId }),
  }
}

/** Maximum recoveries without progress: such a session crashes its runners and is not retried. */
const MAX_RECOVERIES = 3

/**
 * Records the gap that a crashed runner left, before anything else happens, so that the count survives the
 * next crash. False if the session was abandoned instead.
 */
async function recover(resumed: Resumed): Promise<boolean> {
  const { claim, claimed, owed } = resumed
  if (claim.abandoned_s === null) return true
  const { log } = claimed
  const { recoveries } = log.position().turn
  if (owed === undefined && recoveries >= MAX_RECOVERIES) {
    const given = await failSession(resumed, 'recovery_loop', {
      error_category: 'recovery_loop',
      attempts: recoveries,
      retryable: false,
      error: `${recoveries} runners in a row died on this session without making progress.`,
    })
    if (given) return false
  }
  await log.append([
    sessionRecovered({ recovered_by: claim.fence.worker_id, stale_seconds: claim.abandoned_s }),
  ])
  return true
}

/** Whether a rollback was owed: then the session has no turn in this run. */
async function rollBackOwed({ runner, claimed, owed }: Resumed): Promise<boolean> {
  if (owed === undefined) return false
  const { session_id, fence } = claimed.lease
  if ((await owed.act(claimed)) === 'draining') await runner.store.leases.release(session_id, fence)
  return true
}

/** Committed together with the first events of the turn. */
function wake({ claim, claimed, agent_version }: Resumed): void {
  const { worker_id } = claim.fence
  const { cursor } = claim.session
  claimed.log.startWith(sessionWoken({ worker_id, cursor, agent_version }))
}

/** Runs the turn until the session rests, suspends, ends, or loses its lease. */
async function runUntilRest(resumed: Resumed): Promise<void> {
  for (;;) {
    try {
      await runTurn(await prepareTurn(resumed))
      return
    } catch (error) {
      resumed.claimed.lease.signal.throwIfAborted()
      if (await endsWith(resumed, asError(error))) return
    }
  }
}

function followUp({ runner, claimed, capabilities }: Resumed): void {
  for (const { afterTurn } of capabilities) {
    const running = afterTurn?.(claimed) ?? null
    if (running !== null) runner.keepInBackground(running)
  }
}

/** Prepares a turn: the agent as its capabilities set it up, its tools and its folders. */
async function prepareTurn({ runner, claimed, capabilities }: Resumed): Promise<Turn> {
  const { store, models, config, clock, random, newId, redact, streamRedactor, shutdown } = runner
  const { session, lease, log, report } = claimed
  const made = claimed.makeFolders()
  // The promise is awaited below, where its error is handled. A rejection before that must do nothing.
  made.catch(() => undefined)
  let setup = setUpAgent(config, session)
  for (const capability of capabilities) setup = (await capability.setUp?.(setup)) ?? setup
  const owned = await openTools(runner, claimed)
  const ownTools = owned.tools()
  let tools = ownTools
  for (const capability of capabilities) tools = [...tools, ...(capability.tools?.(setup, tools) ?? [])]
  const ofCapabilities = tools.slice(ownTools.length)
  const turn = {
    store,
    log,
    lease,
    clock,
    config,
    limits: config.limits,
    setup,
    models,
    capabilities,
    ...owned,
    tools: () => [...owned.tools(), ...ofCapabilities],
    ...(await made),
    written: new Map<string, string>(),
    streamRedactor,
    redact,
    worker_id: runner.id,
    newId,
    random,
    draining: () => shutdown.aborted,
    report,
  }
  const asking = bindAsks(capabilities, turn)
  return { ...turn, asking, goesFirst: goesFirst(asking) }
}

/**
 * The same exception this many times in a row, without progress in between, is a loop; so are many different
 * ones.
 */
const SAME_CRASHES = 3
const MAX_CRASHES = 8
const CRASH_BACKOFF: Backoff = { baseMs: 500, maxMs: 10_000 }

/** Records the error; whether the session failed with it, otherwise the turn is tried again. */
async function endsWith(resumed: Resumed, error: Error): Promise<boolean> {
  const { runner, claim, claimed } = resumed
  const { lease, log, report } = claimed
  report('error', 'the turn crashed', { error: error.stack ?? error.message })
  if (error instanceof ConfigurationError)
    return failSession(resumed, 'configuration', {
      error_category: 'configuration',
      error: error.message,
      retryable: true,
    })
  const workspace = sessionFolder(runner.workspacesDir, workspaceOf(claim.session))
  const crash = {
    error_category: error instanceof AppError && error.code === 'storage' ? 'storage_error' : 'internal',
    error: workspaceMask(workspace).mask(`${error.name}: ${error.message}`),
    retryable: true,
  } as const
  await log.append([turnCrashed({ worker_id: lease.fence.worker_id, ...crash })])
  const { crashes } = log.position().turn
  if (isCrashLoop(crashes))
    return failSession(resumed, 'crash_loop_detected', {
      ...crash,
      error_category: 'crash_loop',
      retryable: false,
      attempts: crashes.length,
    })
  const delayMs = backoffMs(CRASH_BACKOFF, crashes.length - 1, runner.random())
  await sleep(runner.clock, delayMs, lease.signal)
  return false
}

function isCrashLoop(crashes: readonly string[]): boolean {
  const tail = crashes.slice(-SAME_CRASHES)
  return (
    crashes.length >= MAX_CRASHES || (tail.length === SAME_CRASHES && tail.every(error => error === tail[0]))
  )
}

/** Fails the session; false if a message arrived that deserves its own attempt. */
async function failSession(
  { claimed: { log }, rest }: Resumed,
  reason: string,
  failure: Omit<EventData<'session.fail'>, 'reason'>,
): Promise<boolean> {
  try {
    const { events, rows } = await rest()
    await log.append([sessionFailed({ reason, ...failure }), ...events], {
      cursor: 'self',
      rows,
      release_lease: true,
      expect_no_work_after: log.position().last_id,
    })
    return true
  } catch (error) {
    if (!cameMeanwhile(error)) throw error
    await log.catchUp()
    return false
  }
}

/** How the end of a child is committed; a root's end is an ordinary commit. */
function commitEndOf(runner: RunnerDeps, { link }: Claim, report: Logger): Pick<LogHooks, 'commitEnd'> {
  if (link?.status !== 'open') return {}
  const deps = { store: runner.store, now: runner.clock.now, newId: runner.newId }
  return {
    commitEnd: async (session, commit) =>
      commitEnd(deps, session, link, commit, await writtenBy(runner, session, report)),
  }
}
