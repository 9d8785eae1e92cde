/**
 * Pauses, resumes and retries a session (contract 6), each over the session and its open descendants in one
 * commit. A pause revokes the leases, for the reason given in stop.ts.
 */
import type { Commit, Link, SessionRow } from '@cairn/log'
import { AppError, type SessionStatus } from '@cairn/protocol'
import { parkRun } from '../code/runs.ts'
import type { Deps } from '../deps.ts'
import { sessionPaused, sessionResumed } from '../events/lifecycle.ts'
import { commitTree, hasEnded, type TreeSnapshot } from '../tree/commit-tree.ts'
import { pauseDescendants, resumeDescendants } from '../tree/pause-tree.ts'

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
    expect_status: hasEnded(tree.session) && tree.descendants.length > 0 ? [tree.session.status] : ['active'],
    revoke_lease: true,
    rows: await parkRun(deps.store, sessionId),
    also: await pauseDescendants(deps, tree),
  }))

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
  const isPaused = (await deps.store.sessions.get(parent_id))?.status === 'paused'
  if (!isPaused && !(await hasPausedMission(deps, parent_id))) return
  throw new AppError(
    'wrong_state',
    `The parent ${isPaused ? 'session' : "session's mission"} is paused: resume it, and this ` +
      'session resumes too.',
    { extra: { parent_id } },
  )
}

const hasPausedMission = async ({ store }: Deps, sessionId: string): Promise<boolean> =>
  (await store.missions.current(sessionId))?.status === 'paused'
