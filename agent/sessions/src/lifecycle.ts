/**
 * Session states (contract 6). The writer of session.pause, resume, complete, fail and stopped.
 *
 * Pause, stop and archive take the lease from whoever holds it in the same commit as their event: whatever
 * the running turn tries to write afterwards, a tool.call above all, is refused by the store. That is why
 * "nothing more starts" needs no cooperation of the worker; its watcher only makes the stop quick.
 */
import type { SessionRow } from '@cairn/log'
import { CommitRefused } from '@cairn/log'
import { type EventData, type EventDraft, writer } from '@cairn/protocol'
import type { Deps } from './deps.ts'
import { commitFor, refusedAs } from './refusals.ts'

const write = writer('lifecycle')

/** Draft of the resume that a message, an answer or a goal puts before itself when it reopens a session. */
export const resumed = (source: string): EventDraft<'session.resume'> => write('session.resume', { source })
/** Draft that ends a turn; the worker commits it with its cursor and gives the lease back. */
export const completed = (
  reason: EventData<'session.complete'>['reason'],
  workerId: string,
): EventDraft<'session.complete'> => write('session.complete', { reason, worker_id: workerId })
/** Draft that fails the session: out of retries, a crash loop, a recovery loop. */
export const failed = (data: EventData<'session.fail'>): EventDraft<'session.fail'> =>
  write('session.fail', data)

/** Draft of the end of an aborted turn; who commits it takes the lease in the same commit. */
export const stopped = (reason: string): EventDraft<'session.stopped'> => write('session.stopped', { reason })

export async function pauseSession(
  { store }: Deps,
  sessionId: string,
  reason = 'paused by user',
): Promise<SessionRow> {
  const { session } = await commitFor(store, 'pause', {
    session_id: sessionId,
    events: [write('session.pause', { reason })],
    expect_status: ['active'],
    revoke_lease: true,
  })
  return session
}

export async function resumeSession({ store }: Deps, sessionId: string): Promise<SessionRow> {
  const { session } = await commitFor(store, 'resume', {
    session_id: sessionId,
    events: [resumed('user')],
    expect_status: ['paused'],
  })
  return session
}

export async function retrySession({ store }: Deps, sessionId: string): Promise<SessionRow> {
  const { session } = await commitFor(store, 'retry', {
    session_id: sessionId,
    events: [resumed('user_retry')],
    expect_status: ['failed', 'paused'],
  })
  return session
}

/** Aborts the running turn and leaves the session active; everything up to here counts as dealt with. */
export async function stopSession(
  { store }: Deps,
  sessionId: string,
  reason = 'stopped by user',
): Promise<SessionRow> {
  const { session } = await commitFor(store, 'stop', {
    session_id: sessionId,
    events: [stopped(reason)],
    expect_status: ['active'],
    revoke_lease: true,
    cursor: 'self',
  })
  return session
}

/**
 * Archives the session and its descendants, children last to be made first to go, and lets their inbox items
 * expire; archiving twice changes nothing.
 */
export async function archiveSession(deps: Deps, session: SessionRow): Promise<void> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await deps.store.listSessions({
      org_id: session.org_id,
      parent_id: session.id,
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const child of page.sessions) await archiveSession(deps, child)
    cursor = page.next_cursor
  }
  await archiveOne(deps, session)
}

/**
 * A running turn sees session.stopped; a session at rest is archived without an event. Tried again when its
 * state moved in between.
 */
async function archiveOne({ store }: Deps, seen: SessionRow): Promise<void> {
  for (let session: SessionRow | null = seen; session !== null && session.status !== 'archived';) {
    const events: EventDraft[] = session.status === 'active' ? [stopped('archived')] : []
    try {
      await store.commit({
        session_id: session.id,
        events,
        expect_status: [session.status],
        revoke_lease: true,
        cursor: 'self',
        set: { status: 'archived' },
        // What it still asked of people is asked no more.
        rows: [{ do: 'inbox.expire_all', decision: 'archived' }],
      })
      return
    } catch (thrown) {
      if (!(thrown instanceof CommitRefused)) throw thrown
      if (thrown.refusal !== 'wrong_status') throw refusedAs('archive', session.id, thrown)
      session = thrown.session
    }
  }
}
