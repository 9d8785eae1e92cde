/** What a commit is answered with, whichever store took it. */
import type { Commit, Committed } from './commit.ts'
import { isoStamp } from './commit-rules.ts'
import type { SessionRow } from './session.ts'

/**
 * `at` is when it was made, in epoch milliseconds, `last` the id of its last event. `session` is asked at
 * most once and only by who looks at it: most callers never do, and the row is dearer than the rest.
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
