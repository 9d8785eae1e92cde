/**
 * Stops a session (contract 6): aborts the turns of the session and its open descendants in one commit, so
 * that everything up to there counts as handled. A root stays active; a child has ended.
 *
 * The commit revokes the leases. The store then rejects every write of the running turns, above all a
 * tool.call. So "nothing more starts" does not depend on the runner; its watcher only makes the stop fast.
 */
import type { Commit, Committed, Mission, RowChange, SessionRow } from '@cairn/log'
import { AppError, type EventDraft } from '@cairn/protocol'
import { OUTLIVE_STOP } from '@cairn/protocol/words'
import { findLiveRun, stopRun } from '../code/runs.ts'
import type { Deps } from '../deps.ts'
import { sessionResumed, sessionStopped } from '../events/lifecycle.ts'
import { composePause } from '../missions/commands.ts'
import { commitTree, hasEnded, type TreeSnapshot } from '../tree/commit-tree.ts'
import { type EndedTree, endTree, expireAll, expireWaiting, ownPart } from '../tree/end-tree.ts'

/** `stopped` is false if an active session had nothing to stop; then nothing is written. */
export type StopOutcome = SessionRow & { stopped: boolean }

/** For a root that is idle or paused, only the open descendants are stopped. */
export async function stopSession(
  deps: Deps,
  sessionId: string,
  reason = 'stopped by user',
): Promise<StopOutcome> {
  const idle: SessionRow[] = []
  const committed = await commitTree(deps, 'stop', sessionId, async tree => {
    if (tree.session.status !== 'active' || (await hasWorkToStop(deps, tree)))
      return composeStop(deps, tree, reason)
    idle.push(tree.session)
    return null
  })
  const session = committed?.session ?? idle.at(-1)
  if (session === undefined) throw new Error('[stop] the commit is empty')
  return { ...session, stopped: committed !== null }
}

/**
 * Stops a session by a message, in the commit of the message itself; null if nothing is to be stopped, and
 * the message is handled like any other. `rows` are changed in the same commit.
 */
export async function stopByMessage(
  deps: Deps,
  sessionId: string,
  message: EventDraft,
  { reason, rows }: { reason: string; rows: readonly RowChange[] },
): Promise<Committed | null> {
  try {
    return await commitTree(deps, 'stop', sessionId, async tree => {
      const { status } = tree.session
      if (status === 'paused' || status === 'archived') return null
      const isAtWork = status === 'active' ? await hasWorkToStop(deps, tree) : tree.descendants.length > 0
      if (!isAtWork) return null
      const stop = await composeStop(deps, tree, reason, message)
      return { ...stop, rows: [...rows, ...(stop.rows ?? [])] }
    })
  } catch (error) {
    // The turn ended in between.
    if (error instanceof AppError && error.code === 'wrong_state') return null
    throw error
  }
}

/**
 * True if a stop of an active session ends something: a turn that is due, running or waiting, a coding run, a
 * mission, a worker. An approval alone does not count: the turn that asked for it continues or has ended.
 */
async function hasWorkToStop(deps: Deps, { session, link, descendants }: TreeSnapshot): Promise<boolean> {
  const { id, wake_id, cursor, waiting_on } = session
  if (link?.status === 'open' || descendants.length > 0 || wake_id > cursor) return true
  if (waiting_on === 'question') return true
  if (waiting_on === 'action' && (await hasActionToStop(deps, session))) return true
  const [run, mission] = await Promise.all([
    findLiveRun(deps.store, id),
    link === null ? deps.store.missions.current(id) : null,
  ])
  return run !== null || mission?.status === 'active'
}

/** True if there is an open action that a stop would expire. */
async function hasActionToStop({ store }: Deps, { id, org_id }: SessionRow): Promise<boolean> {
  const { items } = await store.inbox.list({
    org_id,
    session_id: id,
    kind: ['action_required'],
    status: ['pending'],
    limit: 100,
  })
  return items.some(
    ({ payload }) => payload['proposal'] === undefined && !OUTLIVES.includes(payload['action_type']),
  )
}
const OUTLIVES: readonly unknown[] = OUTLIVE_STOP

/**
 * Composes the commit of a stop. `message` is committed first: the message that requested the stop. It
 * reopens a session that has ended.
 */
export async function composeStop(
  deps: Deps,
  tree: TreeSnapshot,
  reason: string,
  message?: EventDraft,
): Promise<Commit> {
  const { session, link, descendants } = tree
  const mission = link === null ? await deps.store.missions.current(session.id) : null
  const error = `The worker was stopped: ${reason}.`
  const ended =
    mission?.status === 'active'
      ? await pauseCoordinator(deps, tree, mission, reason)
      : await endTree(deps, tree, { ending: { as: 'failed', cause: 'cancelled', error }, reason })
  const isChild = ended.child !== null
  const isReopened = message !== undefined && hasEnded(session)
  const isPaused = session.status === 'paused' && !isChild
  // A paused root keeps its coding run, which is parked.
  const run = isPaused ? { events: [], rows: [] } : ended.run
  // Without a turn to abort: ends open descendants, or a coding run that waits for a decision.
  const hasTurn = message !== undefined || !(hasEnded(session) || isPaused)
  const onlyBelow = !hasTurn && (descendants.length > 0 || run.events.length > 0)
  const { events, rows, also } = ownPart(
    { ...ended, run },
    onlyBelow ? [] : [sessionStopped(reason)],
    isChild ? [expireAll('stopped')] : onlyBelow ? [] : [expireWaiting],
  )
  return {
    session_id: session.id,
    events: [...(message === undefined ? [] : [message]), ...events],
    ...(isReopened ? { reopen: sessionResumed('message') } : {}),
    expect_status: onlyBelow || isReopened ? [session.status] : isChild ? ['active', 'paused'] : ['active'],
    revoke_lease: true,
    // Messages to a paused session are still to be answered.
    ...(isPaused ? {} : { cursor: 'self' as const }),
    rows,
    also,
  }
}

/** Stopping the coordinator of a mission pauses the mission, and its workers with it. */
async function pauseCoordinator(
  deps: Deps,
  tree: TreeSnapshot,
  mission: Mission,
  reason: string,
): Promise<EndedTree> {
  const [{ events, rows, also }, run] = await Promise.all([
    composePause(deps, tree, mission, null, reason),
    stopRun(deps, tree.session),
  ])
  return { events, rows, parts: also, run, child: null }
}
