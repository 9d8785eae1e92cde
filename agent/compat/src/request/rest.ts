/** Whether a session has nothing left to do. */
import type { EventId } from '@cairn/protocol'
import type { CompatDeps } from '../deps.ts'

/**
 * Nothing runs although the log has no end: a decision that no turn follows, such as one of a coding run.
 * `last` is the last event that the caller has read. A turn may end after that, and then the log has more.
 */
export async function isAtRest(
  { store }: Pick<CompatDeps, 'store'>,
  session_id: string,
  last: EventId,
): Promise<boolean> {
  const session = await store.sessions.get(session_id)
  if (session === null || session.last_event_id > last) return false
  const { state } = session
  return state === 'idle' || state === 'done' || state === 'failed'
}
