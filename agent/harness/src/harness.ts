/**
 * The worker (contract 8): claims sessions that have work, keeps their leases alive, lets their turns
 * run side by side, and gives everything back when it is told to stop. Many of these, in one process or in
 * many, share one log.
 */
import { join } from 'node:path'
import { type Claim, createHoldBack, createRedactor, type LogStore, type Redact } from '@cairn/log'
import { AppError, asError, type Config, GovernanceConfig } from '@cairn/protocol'
import { makeSessionFolder, sessionFolder } from '@cairn/workspace'
import { setUpAgent } from './agent.ts'
import { bindAsks, goesFirst, openCapabilities } from './capabilities.ts'
import { type Clock, every, systemClock } from './clock.ts'
import { Draining, holdLease, type Lease, LeaseLost } from './lease.ts'
import { keepReturns } from './lease-returns.ts'
import type { Log } from './log.ts'
import type { Models } from './llm/registry.ts'
import { owesRollBack, rollBack, type RollBackDeps } from './saga/roll-back.ts'
import { recover } from './sweeper.ts'
import { keepReviews } from './review/after-turn.ts'
import { NO_SKILLS, readSkills, type SkillCatalogue } from './skills/catalogue.ts'
import { findTitle, titleCapability } from './titles.ts'
import type { Tool } from './tools/tool.ts'
import type { Capability } from './turn/capability.ts'
import type { TurnContext } from './turn/context.ts'
import type { Position } from './turn/position.ts'
import { runTurn } from './turn/run-turn.ts'
import { openSessionLog } from './turn/session-log.ts'
import { actOn } from './wake.ts'

export type HarnessOptions = {
  store: LogStore
  models: Models
  /** Values beside those of the models that the store's redactor takes out: none may be written in halves. */
  secrets?: readonly string[]
  /** The store's redactor: what is shown and kept elsewhere loses the same. By default one for those values. */
  redact?: Redact
  /** The built-in tools and those of MCP servers. */
  tools: readonly Tool[]
  config: Config
  /** Holds what is the service's own: memory files, and `checkpoints/<session id>` of files of the workspaces. */
  dataDir: string
  /** Holds a folder for each session, of its id, where its tools work. Apart from the data directory. */
  workspacesDir: string
  /** The directory of skills, absolute; absent: there are none. */
  skillsDir?: string
  workerId: string
  newId: () => string
  log: Log
  clock?: Clock
  random?: () => number
}
export type Harness = {
  /**
   * Drains: no new turns; running ones get `limits.drain_s` to reach a resting point, then are cut; leases
   * are given back.
   */
  stop(): Promise<void>
  /** Resolves when no turn runs and none is waiting to be claimed. */
  idle(): Promise<void>
  /** Turns that run right now. */
  active(): number
  /** Whether something of the session still runs here, though it may be another's by now. */
  holds(sessionId: string): boolean
}

/** The slow poll behind the store's nudges: it also finds what dead workers left. */
const POLL_MS = 2000
const PRUNE_EVERY_MS = 60_000
const KEPT_FOLDS = 200

type Run = { lease: Lease; done: Promise<void> }

export function startHarness(options: HarnessOptions): Harness {
  const { store, config, workerId, log, clock = systemClock, random = Math.random } = options
  const { limits } = config
  const ttlMs = Math.round(limits.lease_s * 1000)
  const secrets = [...options.models.secrets, ...(options.secrets ?? [])]
  const settled = createHoldBack(secrets)
  const redact = options.redact ?? createRedactor(secrets)
  const runs = new Map<string, Run>()
  const leases = new Set<Lease>()
  /** Folds of sessions that were here lately, oldest first: their next turn reads only what is new. */
  const folded = new Map<string, Position>()
  const background = new Set<Promise<void>>()
  const shutdown = new AbortController()
  const returns = keepReturns({ store, clock, everyMs: POLL_MS, ttlMs, signal: shutdown.signal })
  const reviews = keepReviews({
    store,
    models: options.models,
    redact,
    dataDir: options.dataDir,
    newId: options.newId,
    clock,
    random,
    limits,
    config,
    workerId,
    signal: shutdown.signal,
  })
  const state = { draining: false, nudged: false, claiming: null as Promise<void> | null }

  // ---- claiming
  // -------------------------------------------------------------------------------------------------------

  /** One claim at a time; a nudge that comes meanwhile makes it look once more. */
  function look(): Promise<void> {
    state.nudged = true
    state.claiming ??= claimAll().finally(() => {
      state.claiming = null
      // A nudge may have come after the last look and before this line.
      if (state.nudged && !state.draining) void look()
    })
    return state.claiming
  }

  async function claimAll(): Promise<void> {
    while (state.nudged && !state.draining) {
      state.nudged = false
      const room = limits.concurrent_turns - runs.size
      if (room <= 0) return
      try {
        const claims = await store.claim(workerId, room, ttlMs)
        for (const claim of claims) begin(claim)
        if (claims.length === room) state.nudged = true
      } catch (thrown) {
        log('error', 'claiming work failed; the slow poll tries again', { error: asError(thrown).message })
        return
      }
    }
  }

  function begin(claim: Claim): void {
    const { id } = claim.session
    const lease = holdLease(id, claim.fence)
    leases.add(lease)
    // A turn that was just paused may still be letting go of its tools; the next one waits, for both have the
    // same workspace.
    const before = runs.get(id)?.done ?? Promise.resolve()
    const done = before
      .then(() => act(claim, lease))
      .finally(() => {
        leases.delete(lease)
        if (runs.get(id)?.lease === lease) runs.delete(id)
        void look()
      })
    runs.set(id, { lease, done })
  }

  // ---- one session
  // ----------------------------------------------------------------------------------------------------

  async function act(claim: Claim, lease: Lease): Promise<void> {
    const report: Log = (level, message, fields) =>
      log(level, message, { session_id: lease.session_id, ...fields })
    const unwatch = watchLease(store, lease, report)
    let keepFold: (() => void) | undefined
    try {
      const sessionLog = await openSessionLog(store, claim, lease, folded.get(lease.session_id))
      keepFold = () => remember(lease.session_id, sessionLog.position())
      const owed = owesRollBack(sessionLog.position().saga)
      if (!(await recover(sessionLog, claim, !owed))) return
      if (owed) {
        if ((await rollBack(prepareRollBack(claim, lease, sessionLog))) === 'draining')
          await store.release(lease.session_id, lease.fence)
        return
      }
      const skills = await reviews.learned(await readSkillsAnew(report), claim.session)
      const workspace = sessionFolder(options.workspacesDir, lease.session_id)
      await actOn(claim, lease, sessionLog, { clock, random, report, workspace }, async () =>
        runTurn(await prepareTurn(claim, lease, sessionLog, skills, report)),
      )
      keepInBackground(reviews.after(sessionLog, skills, report))
    } catch (thrown) {
      if (thrown instanceof LeaseLost || lease.signal.reason instanceof LeaseLost)
        report('info', 'gave the session up', { why: asError(lease.signal.reason ?? thrown).message })
      else if (!(lease.signal.reason instanceof Draining)) {
        report('error', 'the session was left behind', { error: asError(thrown).stack })
        // After any other exception the lease is kept: until it has run out nobody runs into the same one
        // again.
        if (thrown instanceof AppError && thrown.code === 'storage') returns.add(lease, report)
      }
    } finally {
      unwatch()
      keepFold?.()
      // A store that does not answer now must not end the process: the lease runs out by itself.
      if (lease.signal.reason instanceof Draining)
        await store
          .release(lease.session_id, lease.fence)
          .catch((thrown: unknown) =>
            report('warn', 'giving the lease back failed', { error: asError(thrown).message }),
          )
    }
  }

  function remember(sessionId: string, position: Position): void {
    folded.delete(sessionId)
    folded.set(sessionId, position)
    const [oldest] = folded.keys()
    if (folded.size > KEPT_FOLDS && oldest !== undefined) folded.delete(oldest)
  }

  /** Read for every claim: skills may be added and mended while the service runs. */
  async function readSkillsAnew(report: Log): Promise<SkillCatalogue> {
    if (options.skillsDir === undefined) return NO_SKILLS
    try {
      return await readSkills(options.skillsDir)
    } catch (thrown) {
      report('warn', 'the skills cannot be read; the turn goes on without them', {
        error: asError(thrown).message,
      })
      return NO_SKILLS
    }
  }

  async function prepareTurn(
    claim: Claim,
    lease: Lease,
    sessionLog: TurnContext['log'],
    skills: SkillCatalogue,
    report: Log,
  ): Promise<TurnContext> {
    const capabilities = openCapabilities({
      config,
      models: options.models,
      clock,
      random,
      report,
      catalogue: skills,
      lasting: [reviews.memory(claim.session, report), titles(report)],
    })
    let setup = setUpAgent(config, claim.session)
    for (const capability of capabilities) setup = (await capability.setUp?.(setup)) ?? setup
    let tools = options.tools
    for (const capability of capabilities) tools = [...tools, ...(capability.tools?.(setup, tools) ?? [])]
    const turn = {
      store,
      log: sessionLog,
      lease,
      clock,
      config,
      limits,
      setup,
      models: options.models,
      capabilities,
      tools,
      ...makeFolders(lease),
      written: new Map<string, string>(),
      settled,
      redact,
      worker_id: workerId,
      newId: options.newId,
      random,
      draining: () => state.draining,
      report,
    }
    const asking = bindAsks(capabilities, turn)
    return { ...turn, asking, goesFirst: goesFirst(asking) }
  }

  /**
   * It needs the tools and the folders, not the agent: a rollback goes on although the agent is no longer
   * configured.
   */
  function prepareRollBack({ session }: Claim, lease: Lease, sessionLog: RollBackDeps['log']): RollBackDeps {
    return {
      log: sessionLog,
      lease,
      clock,
      tools: options.tools,
      policy: config.agents[session.agent]?.governance ?? GovernanceConfig.parse({}),
      timeoutMs: limits.tool_timeout_s * 1000,
      ...makeFolders(lease),
      draining: () => state.draining,
    }
  }

  function makeFolders({ session_id }: Lease): { workspace: string; checkpoints: string } {
    return {
      workspace: makeSessionFolder(options.workspacesDir, session_id),
      checkpoints: makeSessionFolder(join(options.dataDir, 'checkpoints'), session_id),
    }
  }

  /** What goes on beside the turns; a shutdown and `idle` wait for it. */
  function keepInBackground(running: Promise<void> | null): void {
    if (running === null) return
    const task = running.finally(() => background.delete(task))
    background.add(task)
  }

  /** Looks for a title beside the turn, once it has its first answer. */
  const titles = (report: Log): Capability =>
    titleCapability(
      (request, signal) => findTitle({ store, models: options.models, report }, request, signal),
      {
        signal: shutdown.signal,
        keep: keepInBackground,
        report,
      },
    )

  // ---- upkeep
  // ---------------------------------------------------------------------------------------------------------

  async function renew(): Promise<void> {
    // Only the latest of a session: one that is being let go of is not ours any more.
    const held = [...runs.values()].map(run => run.lease).filter(lease => !lease.signal.aborted)
    if (held.length === 0) return
    const lost = await store.renew(
      workerId,
      held.map(({ session_id, fence }) => ({ session_id, epoch: fence.epoch })),
      ttlMs,
    )
    for (const lease of held)
      if (lost.includes(lease.session_id)) lease.end(new LeaseLost('the lease went to another worker'))
  }

  const guarded = (what: string, run: () => Promise<unknown>) => async (): Promise<void> => {
    try {
      await run()
    } catch (thrown) {
      log('error', `${what} failed; it is tried again`, { error: asError(thrown).message })
    }
  }

  const stops = [
    store.watchWork(() => void look()),
    every(clock, POLL_MS, () => look()),
    every(clock, ttlMs / 3, guarded('renewing leases', renew)),
    ...(limits.delta_keep_s === 0
      ? []
      : [
          every(
            clock,
            PRUNE_EVERY_MS,
            guarded('pruning deltas', () => store.pruneDeltas(clock.now() - limits.delta_keep_s * 1000)),
          ),
        ]),
  ]
  void look()

  const quiet = async (): Promise<void> => {
    while (state.claiming !== null || runs.size > 0 || background.size > 0) {
      await Promise.allSettled([state.claiming, ...[...runs.values()].map(run => run.done), ...background])
    }
  }

  return {
    idle: quiet,
    active: () => runs.size,
    holds: sessionId => runs.has(sessionId),
    async stop() {
      state.draining = true
      for (const stop of stops) stop()
      const keepLeases = every(clock, ttlMs / 3, guarded('renewing leases', renew))
      const cancelCut = clock.after(limits.drain_s * 1000, () => {
        for (const lease of leases) lease.end(new Draining('the worker shuts down'))
      })
      shutdown.abort(new Draining('the worker shuts down'))
      await quiet()
      await returns.done()
      cancelCut()
      keepLeases()
    },
  }
}

/**
 * Ends the lease's signal as soon as the session belongs to someone else: a pause and a stop take the lease
 * in their own commit.
 */
function watchLease(store: LogStore, lease: Lease, report: Log): () => void {
  let looking = false
  let again = false
  async function look(): Promise<void> {
    again = true
    if (looking) return
    looking = true
    try {
      while (again && !lease.signal.aborted) {
        again = false
        const session = await store.getSession(lease.session_id)
        const held = session?.lease
        if (held?.epoch !== lease.fence.epoch || held.worker_id !== lease.fence.worker_id)
          lease.end(new LeaseLost(`the session is ${session?.status ?? 'gone'} and no longer held here`))
      }
    } catch (thrown) {
      // The next nudge or the renewal looks again, and the fence guards every write meanwhile.
      report('warn', 'looking after the lease failed', { error: asError(thrown).message })
    } finally {
      looking = false
    }
  }
  return store.watch(lease.session_id, () => void look())
}
