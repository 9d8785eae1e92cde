/**
 * Session lifecycle (contract 6): pause, resume, retry and stop, each over the session and its open
 * descendants in one commit. Archiving is in archive.ts.
 *
 * Pause, stop and archive revoke the lease in the same commit as their event. The store then rejects every
 * write of the running turn, above all a tool.call. So "nothing more starts" does not depend on the runner;
 * its watcher only makes the stop fast.
 */
import type { Commit, Link, SessionRow } from '@cairn/log'
import { AppError, type EventDraft, type SessionStatus } from '@cairn/protocol'
import { endOwn, pauseDescendants, resumeDescendants, stopDescendants } from '../tree/cascade.ts'
import { type TreeSnapshot, commitTree } from '../tree/commit-tree.ts'
import { nothingUsed } from '../tree/child-report.ts'
import { findLiveRun, stoppedRun } from '../code/runs.ts'
import type { Deps } from '../deps.ts'
import { sessionCompleted, sessionPaused, sessionResumed, sessionStopped } from '../events/lifecycle.ts'
import { expireWaiting, hasActionToStop } from '../inbox/open-items.ts'
import { composePause } from '../missions/commands.ts'

async function changeTree(
  deps: Deps,
  operation: string,
  sessionId: string,
  compose: (tree: TreeSnapshot) => Promise<Commit>,
): Promise<SessionRow> {
  const committed = await commitTree(deps, operation, sessionId, compose)
  if (committed === null) throw new Error(`[${operation}] the commit is empty`)
  return committed.session
}

/** A session whose turn has ended can be paused too while it has open workers: the pause applies to them. */
export const pauseSession = (deps: Deps, sessionId: string, reason = 'paused by user'): Promise<SessionRow> =>
  changeTree(deps, 'pause', sessionId, async tree => ({
    session_id: sessionId,
    events: [sessionPaused(reason)],
    expect_status: isAtRest(tree.session) && tree.descendants.length > 0 ? [tree.session.status] : ['active'],
    revoke_lease: true,
    also: await pauseDescendants(deps, tree),
  }))

const isAtRest = ({ status }: SessionRow): boolean => status === 'completed' || status === 'failed'

export const resumeSession = (deps: Deps, sessionId: string): Promise<SessionRow> =>
  continueSession(deps, 'resume', sessionId, 'user', ['paused'])

/** Resumes the turn of a session that failed or was paused. */
export const retrySession = (deps: Deps, sessionId: string): Promise<SessionRow> =>
  continueSession(deps, 'retry', sessionId, 'user_retry', ['failed', 'paused'])

/**
 * Also resumes the descendants that its pause had paused. A paused mission stays paused until it is resumed
 * itself.
 */
const continueSession = (
  deps: Deps,
  operation: string,
  sessionId: string,
  source: 'user' | 'user_retry',
  from: readonly SessionStatus[],
): Promise<SessionRow> =>
  changeTree(deps, operation, sessionId, async tree => {
    const { link } = tree
    await refuseUnderPause(deps, link)
    const isMissionPaused = link === null && (await hasPausedMission(deps, sessionId))
    return {
      session_id: sessionId,
      events: [sessionResumed(source)],
      expect_status: from,
      ...(link?.paused_by_parent === true
        ? {
            rows: [{ do: 'link.mark', child_id: sessionId, root_id: link.root_id, paused_by_parent: false }],
          }
        : {}),
      also: isMissionPaused ? [] : await resumeDescendants(deps, tree),
    }
  })

/** A scheduled run does not depend on the state of the session above it. */
async function refuseUnderPause(deps: Deps, link: Link | null): Promise<void> {
  if (link === null || link.status !== 'open' || link.kind === 'run') return
  const { parent_id } = link
  const isPaused = (await deps.store.getSession(parent_id))?.status === 'paused'
  if (!isPaused && !(await hasPausedMission(deps, parent_id))) return
  throw new AppError(
    'wrong_state',
    `The parent ${isPaused ? 'session' : "session's mission"} is paused: resume it, and this ` +
      'session resumes too.',
    { extra: { parent_id } },
  )
}

const hasPausedMission = async ({ store }: Deps, sessionId: string): Promise<boolean> =>
  (await store.coordination.missionOf(sessionId))?.status === 'paused'

/** `stopped` is false if an active session had nothing to stop; then nothing is written. */
export type StopOutcome = SessionRow & { stopped: boolean }

/**
 * Aborts the turns of the session and its subtree; everything up to here counts as handled. A root stays
 * active; a child has ended, and its parent gets its outcome. For a root that is idle or paused, only the
 * open descendants are stopped.
 */
export async function stopSession(
  deps: Deps,
  sessionId: string,
  reason = 'stopped by user',
): Promise<StopOutcome> {
  const idle: SessionRow[] = []
  const committed = await commitTree(deps, 'stop', sessionId, async tree => {
    if (tree.session.status !== 'active' || (await hasWorkToStop(deps, tree)))
      return stopCommit(deps, tree, reason)
    idle.push(tree.session)
    return null
  })
  const session = committed?.session ?? idle.at(-1)
  if (session === undefined) throw new Error('[stop] the commit is empty')
  return { ...session, stopped: committed !== null }
}

/**
 * True if a stop of an active session ends something: a turn that is due, running or waiting, a coding run, a
 * mission, a worker. An approval alone does not count: the turn that asked for it continues or has ended.
 */
export async function hasWorkToStop(
  deps: Deps,
  { session, link, descendants }: TreeSnapshot,
): Promise<boolean> {
  const { id, wake_id, cursor, waiting_on } = session
  if (link?.status === 'open' || descendants.length > 0 || wake_id > cursor) return true
  if (waiting_on === 'question') return true
  if (waiting_on === 'action' && (await hasActionToStop(deps.store, session))) return true
  const [run, mission] = await Promise.all([
    findLiveRun(deps.store, id),
    link === null ? deps.store.coordination.missionOf(id) : null,
  ])
  return run !== null || mission?.status === 'active'
}

/** `said` is committed first: the message that requested the stop. It reopens a session that has ended. */
export async function stopCommit(
  deps: Deps,
  tree: TreeSnapshot,
  reason: string,
  said?: EventDraft,
): Promise<Commit> {
  const { session, link, descendants } = tree
  const mission = link === null ? await deps.store.coordination.missionOf(session.id) : null
  // Stopping a coordinator pauses its mission, and its workers with it.
  const pause = mission?.status === 'active' ? await composePause(deps, tree, mission, null, reason) : null
  const stop =
    pause === null
      ? await stopDescendants(deps, tree, reason)
      : { events: pause.events, parts: pause.also, rows: pause.rows, used: nothingUsed() }
  const { events, parts, rows } = stop
  const isChild = link?.status === 'open'
  const atRest = isAtRest(session)
  const isPaused = session.status === 'paused' && !isChild
  // Without a turn to abort: ends open descendants, or a coding run that waits for a decision.
  const run = atRest && said === undefined ? await stoppedRun(deps, session.id) : { events: [], rows: [] }
  const onlyBelow =
    (atRest || isPaused) && said === undefined && (descendants.length > 0 || run.events.length > 0)
  const error = `The worker was stopped: ${reason}.`
  const own = await endOwn(deps, tree, { as: 'failed', cause: 'cancelled', error }, stop)
  return {
    session_id: session.id,
    events: [
      ...(said === undefined ? [] : [said]),
      ...events,
      ...run.events,
      ...(onlyBelow ? [] : [sessionStopped(reason)]),
      ...(isChild ? [sessionCompleted('stopped')] : []),
    ],
    ...(said !== undefined && atRest ? { reopen: sessionResumed('message') } : {}),
    expect_status:
      onlyBelow || (said !== undefined && atRest)
        ? [session.status]
        : isChild
          ? ['active', 'paused']
          : ['active'],
    revoke_lease: true,
    // Messages to a paused session are still to be answered.
    ...(isPaused ? {} : { cursor: 'self' as const }),
    rows: [
      ...rows,
      ...run.rows,
      ...own.rows,
      ...(isChild
        ? [{ do: 'inbox.expire_all', decision: 'stopped' } as const]
        : onlyBelow
          ? []
          : [expireWaiting]),
    ],
    also: [...parts, ...own.also],
  }
}
