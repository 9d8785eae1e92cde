/**
 * Session states (contract 6): pause, resume, retry, stop and archive, each over the session and its open
 * descendants in one commit.
 *
 * Pause, stop and archive revoke the lease in the same commit as their event. The store then refuses whatever
 * the running turn tries to write, above all a tool.call. So "nothing more starts" needs no cooperation of
 * the worker; its watcher only makes the stop quick.
 */
import type { Commit, SessionRow } from '@cairn/log'
import { AppError, type EventDraft, type SessionStatus } from '@cairn/protocol'
import { archiveBelow, endOwn, pauseBelow, resumeBelow, stopBelow } from './cascade.ts'
import { type Around, commitOverTree } from './over-tree.ts'
import { nothingUsed } from './child-report.ts'
import { stoppedRun } from './code.ts'
import type { Deps } from './deps.ts'
import { completed, paused, resumed, stopped } from './lifecycle-events.ts'
import { cancelledWithSession, composePause } from './steer-mission.ts'
import { endSchedules } from './schedule-commands/commands.ts'

async function overTree(
  deps: Deps,
  operation: string,
  sessionId: string,
  compose: (around: Around) => Promise<Commit>,
): Promise<SessionRow> {
  const committed = await commitOverTree(deps, operation, sessionId, compose)
  if (committed === null) throw new Error(`[${operation}] nothing was composed`)
  return committed.session
}

export const pauseSession = (deps: Deps, sessionId: string, reason = 'paused by user'): Promise<SessionRow> =>
  overTree(deps, 'pause', sessionId, async around => ({
    session_id: sessionId,
    events: [paused(reason)],
    expect_status: ['active'],
    revoke_lease: true,
    also: await pauseBelow(deps, around),
  }))

export const resumeSession = (deps: Deps, sessionId: string): Promise<SessionRow> =>
  goOn(deps, 'resume', sessionId, 'user', ['paused'])

/** A session that failed, or was paused, takes its turn up again. */
export const retrySession = (deps: Deps, sessionId: string): Promise<SessionRow> =>
  goOn(deps, 'retry', sessionId, 'user_retry', ['failed', 'paused'])

/** With all below it that its pause had paused. */
const goOn = (
  deps: Deps,
  operation: string,
  sessionId: string,
  source: 'user' | 'user_retry',
  from: readonly SessionStatus[],
): Promise<SessionRow> =>
  overTree(deps, operation, sessionId, async around => {
    const { link } = around
    const isPaused = link !== null && (await deps.store.getSession(link.parent_id))?.status === 'paused'
    // Of a schedule's run the session above is no parent that it waits with.
    if (isPaused && link.status === 'open' && link.kind !== 'run')
      throw new AppError(
        'wrong_state',
        'The session above is paused: resume that one, and this goes on too.',
        {
          extra: { parent_id: link.parent_id },
        },
      )
    return {
      session_id: sessionId,
      events: [resumed(source)],
      expect_status: from,
      ...(link?.paused_by_parent === true
        ? { rows: [{ do: 'link.mark', child_id: sessionId, paused_by_parent: false }] }
        : {}),
      also: await resumeBelow(deps, around),
    }
  })

/**
 * Aborts the running turn and those of all below; everything up to here counts as dealt with. A root stays
 * active; a child has ended, and its parent is told. Of a root at rest only the open descendants are stopped.
 */
export const stopSession = (deps: Deps, sessionId: string, reason = 'stopped by user'): Promise<SessionRow> =>
  overTree(deps, 'stop', sessionId, around => stopCommit(deps, around, reason))

/** `said` goes first: the message that asked for the stop; it reopens a session at rest. */
export async function stopCommit(
  deps: Deps,
  around: Around,
  reason: string,
  said?: EventDraft,
): Promise<Commit> {
  const { session, link, below } = around
  const mission = link === null ? await deps.store.coordination.missionOf(session.id) : null
  // The stop of a coordinator pauses its mission, and its workers with it.
  const pause = mission?.status === 'active' ? await composePause(deps, around, mission, null, reason) : null
  const stop =
    pause === null
      ? await stopBelow(deps, around, reason)
      : { told: pause.events, parts: pause.also, rows: pause.rows, used: nothingUsed() }
  const { told, parts, rows } = stop
  const isChild = link?.status === 'open'
  const atRest = session.status === 'completed' || session.status === 'failed'
  // Only the open descendants, or a coding agent that waits for a decision: there is no turn to abort.
  const run = atRest && said === undefined ? await stoppedRun(deps, session.id) : { events: [], rows: [] }
  const onlyBelow = atRest && said === undefined && (below.length > 0 || run.events.length > 0)
  const error = `The worker was stopped: ${reason}.`
  const own = await endOwn(deps, around, { as: 'failed', cause: 'cancelled', error }, stop)
  return {
    session_id: session.id,
    events: [
      ...(said === undefined ? [] : [said]),
      ...told,
      ...run.events,
      ...(onlyBelow ? [] : [stopped(reason)]),
      ...(isChild ? [completed('stopped')] : []),
    ],
    ...(said !== undefined && atRest ? { reopen: resumed('message') } : {}),
    expect_status:
      onlyBelow || (said !== undefined && atRest)
        ? [session.status]
        : isChild
          ? ['active', 'paused']
          : ['active'],
    revoke_lease: true,
    cursor: 'self',
    rows: [
      ...rows,
      ...run.rows,
      ...own.rows,
      ...(isChild ? [{ do: 'inbox.expire_all', decision: 'stopped' } as const] : []),
    ],
    also: [...parts, ...own.also],
  }
}

/**
 * Archives the session and its descendants and lets their inbox items expire; archiving twice changes
 * nothing. A running turn sees session.stopped; a session at rest is archived without an event.
 */
export async function archiveSession(deps: Deps, archived: SessionRow): Promise<void> {
  const { id } = archived
  if (archived.parent_id === null) await endLoops(deps, archived)
  await commitOverTree(deps, 'archive', id, async around => {
    const { session, link } = around
    if (session.status === 'archived') return null
    const below = await archiveBelow(deps, around)
    const { told, parts, rows } = below
    const mission = link === null ? await deps.store.coordination.missionOf(id) : null
    const end = mission === null ? null : cancelledWithSession(mission)
    const isChild = link?.status === 'open'
    const error = 'The worker was archived.'
    const own = await endOwn(deps, around, { as: 'failed', cause: 'archived', error }, below)
    return {
      session_id: id,
      events: [
        ...told,
        ...(end?.events ?? []),
        ...(session.status === 'active' || isChild ? [stopped('archived')] : []),
        ...(isChild ? [completed('stopped')] : []),
      ],
      expect_status: [session.status],
      revoke_lease: true,
      cursor: 'self',
      set: { status: 'archived' },
      // What it still asked of people is asked no more.
      rows: [...rows, ...(end?.rows ?? []), ...own.rows, { do: 'inbox.expire_all', decision: 'archived' }],
      also: [...parts, ...own.also],
    }
  })
}

/** Its schedules first: what is left of them when a process dies here is cancelled at its next time. */
async function endLoops(deps: Deps, session: SessionRow): Promise<void> {
  for (const run of await endSchedules(deps, session))
    try {
      await stopSession(deps, run, 'archived')
    } catch (thrown) {
      // It ended meanwhile.
      if (!(thrown instanceof AppError) || thrown.code !== 'wrong_state') throw thrown
    }
}
