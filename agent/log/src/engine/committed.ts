/** Builds the result of a commit, for every store. */
import type { Commit, Committed } from '../commit.ts'
import { isoStamp } from './commit-rules.ts'
import type { SessionRow } from '../session.ts'

/**
 * `at` is the commit's time in epoch milliseconds, `last` the id of its last event. `session` is called
 * lazily and at most once: most callers never read it, and the row costs more than the rest.
 */
export function toCommitted(
  { events, session_id, without_session }: Commit,
  at: number,
  last: number,
  session: () => SessionRow,
): Committed {
  const first = last - events.length + 1
  const created_at = isoStamp(at)
  let row: SessionRow | undefined
  return {
    events: events.map(({ type }, nth) => ({ id: first + nth, type, created_at })),
    last_id: last,
    get session() {
      if (without_session === true)
        throw new Error(`[commit] session ${session_id} is asked for after a commit without_session`)
      return (row ??= session())
    },
  }
}
