/** Checks timers against the links and sessions that they are about. */
import type { Resource, ResourceCheck } from '../../engine/resource.ts'
import type { StoredLink } from '../links/link.ts'
import type { StoredTimer } from './row.ts'

type Seen = {
  sessions: Set<string>
  /** Calls of delegate_task with a result, whose workers no longer have a waiting parent. */
  closed: Set<string>
}

export const timerCheck: NonNullable<Resource<never, object>['check']> = {
  rows: { links: `SELECT * FROM links`, timers: `SELECT * FROM timers` },
  create(): ResourceCheck {
    const seen: Seen = { sessions: new Set(), closed: new Set() }
    return {
      begin: session => void seen.sessions.add(session),
      see(session, _id, type, data) {
        if (type === 'tool.result' && data['name'] === 'delegate_task')
          seen.closed.add(callKey(session, String(data['tool_call_id'])))
      },
      problems: ({ links = [], timers = [] }) =>
        checkTimers(links as StoredLink[], timers as StoredTimer[], seen),
    }
  },
}

const callKey = (session: string, call: string): string => `${session} ${call}`

function checkTimers(
  links: readonly StoredLink[],
  timers: readonly StoredTimer[],
  { sessions, closed }: Seen,
): string[] {
  const found: string[] = []
  const there = new Set(timers.map(({ id }) => id))
  const byChild = new Map(links.map(link => [link.child_id, link]))
  for (const { id, kind, session_id, data } of timers) {
    if (!sessions.has(session_id)) {
      found.push(`timer ${id}: session ${session_id} does not exist: the timer should not exist`)
      continue
    }
    const { child_id, of } = JSON.parse(data) as { child_id?: string; of?: string }
    const child = kind === 'stale' ? child_id : kind === 'deadline' ? of : undefined
    const link = child === undefined ? undefined : byChild.get(child)
    if (link !== undefined && link.status !== 'open')
      found.push(`timer ${id}: worker ${link.child_id} has ended: the timer should not exist`)
  }
  const missing = (id: string, why: string): void => {
    if (!there.has(id)) found.push(`timer ${id} is missing: ${why}`)
  }
  for (const { child_id, parent_id, kind, status, tool_call_id } of links) {
    if (kind !== 'delegation' || status !== 'open' || tool_call_id === null) continue
    missing(`stale:${child_id}`, `an idle worker ${child_id} would not be reported`)
    if (!closed.has(callKey(parent_id, tool_call_id)))
      missing(
        `delegation:${parent_id}:${tool_call_id}`,
        `worker ${child_id} would not be stopped at its timeout`,
      )
  }
  return found
}
