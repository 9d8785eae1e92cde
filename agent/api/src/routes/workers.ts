/** The workers of a session and the state of each, for monitoring. */
import type { Link, LogStore, SessionRow, StoredEvent } from '@cairn/log'
import { decodeEvent, type WorkerView } from '@cairn/protocol'
import { mayAccess } from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { pageLimit } from './page-limit.ts'

export const sessionWorkers: Handler<'sessionWorkers'> = async ({ services, principal, params, query }) => {
  const { store, guard } = services
  await guard.check(principal, params.id)
  const { links, next_cursor } = await store.links.descendants(params.id, {
    limit: pageLimit(query.limit),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    ...(query.status === undefined ? {} : { status: query.status }),
  })
  const ids = links.map(link => link.child_id)
  const [rows, last, families] = await Promise.all([
    store.sessions.getMany(ids),
    store.events.last(ids),
    store.links.trees(ids),
  ])
  const sessions = new Map(rows.map(row => [row.id, row]))
  const workers = await Promise.all(
    links.map(async (link, at) => {
      const session = sessions.get(link.child_id)
      // Scheduled runs have trees of their own and are not part of this one.
      if (session === undefined || link.kind === 'run' || !mayAccess(principal, session)) return []
      const shown = shownWorker(link, link.kind, session, last.get(session.id))
      const blocked_reason = await blockOf(store, link, session)
      const open_children = families[at]?.open_children ?? 0
      return [{ ...shown, open_children, blocked_reason }]
    }),
  )
  return { workers: workers.flat(), next_cursor }
}

/** The question of a worker that is blocked on its task; null if the worker is active. */
async function blockOf(store: LogStore, link: Link, session: SessionRow): Promise<string | null> {
  if (link.task_id === null || link.status !== 'open' || session.state !== 'idle') return null
  const task = await store.tasks.get(link.task_id)
  const isBlocked = task?.status === 'blocked' && task.state.worker_id === link.child_id
  return isBlocked ? (task.state.blocked_reason ?? null) : null
}

const iso = (at: number): string => new Date(at).toISOString()

const shownWorker = (
  link: Link,
  kind: WorkerView['kind'],
  session: SessionRow,
  last: StoredEvent | undefined,
): Omit<WorkerView, 'open_children' | 'blocked_reason'> => ({
  worker_id: link.child_id,
  parent_id: link.parent_id,
  depth: link.depth,
  kind,
  task_id: link.task_id,
  attempt: link.attempt,
  agent: session.agent,
  goal: session.title,
  status: link.status,
  cause: link.cause,
  state: session.state,
  waiting_on: session.waiting_on,
  usage: {
    input_tokens: session.input_tokens,
    output_tokens: session.output_tokens,
    cost_usd: session.cost_usd,
    unpriced: session.unpriced,
  },
  last_event:
    last === undefined ? null : { id: last.id, type: last.type, at: decodeEvent(last.json).created_at },
  started_at: iso(link.opened_at),
  ended_at: link.settled_at === null ? null : iso(link.settled_at),
})
