/**
 * What a runner does with one claimed session (contract 8): first the pending work of capabilities, then the
 * turn, then its follow-up. The lease is released on shutdown and kept after an exception. `begun` is called
 * when a model is called.
 */
import type { Claim, SessionRow } from '@cairn/log'
import { AppError, asError } from '@cairn/protocol'
import { childConfig, commitEnd, workspaceOf } from '@cairn/sessions'
import { sessionFolder } from '@cairn/workspace'
import type { SnapshotCache } from './snapshot-cache.ts'
import { Draining, type Lease, LeaseLost } from './lease.ts'
import type { LeaseReleaseRetry } from './lease-release-retry.ts'
import { watchLease } from './lease-watch.ts'
import type { Logger } from '@cairn/models/logger'
import { makeFolders, prepareTurn } from './prepare-turn.ts'
import { recoverSession } from './crash-recovery.ts'
import { atRest, type Rest } from './turn/at-rest.ts'
import type { Capability, Claimed } from './turn/capability.ts'
import { runTurn } from './turn/run-turn.ts'
import { type LogHooks, openSessionLog } from './turn/session-log.ts'
import { runSession } from './run-session.ts'
import type { Runner } from './runner.ts'

export type ClaimDeps = {
  runner: Runner
  folds: SnapshotCache
  returns: LeaseReleaseRetry
  /** The capabilities of this claim. */
  openCapabilities: (claimed: Claimed) => Promise<readonly Capability[]>
}

/** Never rejects: an error is reported, and the next runner handles the session. */
export async function runClaim(
  deps: ClaimDeps,
  claim: Claim,
  lease: Lease,
  begun: () => void,
): Promise<void> {
  const { runner, folds } = deps
  const report: Logger = (level, message, fields) =>
    runner.logger(level, message, { session_id: lease.session_id, ...fields })
  const unwatch = watchLease(runner.store, lease, report)
  let keepFold = (): void => undefined
  try {
    const fold = await folds.begin(claim.session, report)
    const log = await openSessionLog(runner.store, claim, lease, fold.position, {
      onGrown(position) {
        if (position.turn.requested) begun()
        folds.moved(fold, position, lease, report)
      },
      ...endOf(runner, claim, report),
    })
    keepFold = () => folds.keep(lease.session_id, Object.assign(fold, { position: log.position() }))
    await goOn(deps, claim, { session: claim.session, link: claim.link, lease, log, report })
  } catch (error) {
    explain(deps, lease, report, error)
  } finally {
    unwatch()
    keepFold()
    if (lease.signal.reason instanceof Draining) await giveBack(runner, lease, report)
  }
}

/** How the end of a child is committed; a root's end is an ordinary commit. */
function endOf(runner: Runner, { link }: Claim, report: Logger): Pick<LogHooks, 'commitEnd'> {
  if (link?.status !== 'open') return {}
  const { store, clock, newId } = runner
  return {
    commitEnd: async (session, commit) =>
      commitEnd(
        { store, now: clock.now, newId },
        session,
        link,
        commit,
        await writtenBy(runner, session, report),
      ),
  }
}

/**
 * What a worker changed in its copy; null: it has none, or the changes are unknown. That must not prevent its
 * end.
 */
async function writtenBy(
  { copies }: Runner,
  session: SessionRow,
  report: Logger,
): Promise<readonly string[] | null> {
  if (childConfig(session)?.copied_from === undefined) return null
  try {
    return (await copies.changes(session.id))?.map(({ path }) => path) ?? null
  } catch (error) {
    report('warn', 'failed to list the session folder', { error: asError(error).message })
    return null
  }
}

async function goOn(
  { runner, openCapabilities }: ClaimDeps,
  claim: Claim,
  base: Omit<Claimed, 'makeFolders'>,
): Promise<void> {
  const { lease, log, report } = base
  const claimed: Claimed = {
    ...base,
    makeFolders: () => makeFolders(runner, claim.session, base.lease.signal),
  }
  const capabilities = await openCapabilities(claimed)
  const owing = capabilities.find(({ atClaim }) => atClaim?.isDue(log.position()))?.atClaim
  const { store, newId } = runner
  const rest = (): Promise<Rest> => atRest(capabilities, { log, store, newId })
  // Pending work is never abandoned: it must be finished, however often a runner crashed over it.
  if (!(await recoverSession(log, claim, rest, owing === undefined))) return
  if (owing !== undefined) {
    if ((await owing.act(claimed)) === 'draining') await runner.store.release(lease.session_id, lease.fence)
    return
  }
  const { clock, random, workspacesDir } = runner
  const workspace = sessionFolder(workspacesDir, workspaceOf(claim.session))
  await runSession(claim, lease, log, { clock, random, report, workspace, rest }, async () =>
    runTurn(await prepareTurn(runner, claimed, capabilities)),
  )
  for (const { afterTurn } of capabilities) {
    const running = afterTurn?.(claimed) ?? null
    if (running !== null) runner.keepInBackground(running)
  }
}

function explain({ returns }: ClaimDeps, lease: Lease, report: Logger, thrown: unknown): void {
  const { reason } = lease.signal
  if (thrown instanceof LeaseLost || reason instanceof LeaseLost)
    report('info', 'lease lost', { why: asError(reason ?? thrown).message })
  else if (!(reason instanceof Draining)) {
    report('error', 'session abandoned after an error', { error: asError(thrown).stack })
    // After any other exception the lease is kept, so that no runner hits the same error again before it
    // expires.
    if (thrown instanceof AppError && thrown.code === 'storage') returns.add(lease, report)
  }
}

/** A store that does not answer must not end the process: the lease expires by itself. */
const giveBack = ({ store }: Runner, lease: Lease, report: Logger): Promise<void> =>
  store
    .release(lease.session_id, lease.fence)
    .catch((error: unknown) => report('warn', 'lease release failed', { error: asError(error).message }))
