/** Links, trees and timers on Postgres: reads, and the claims of timers. */
import {
  type CoordinationStore,
  type Link,
  type StoredLink,
  type StoredTimer,
  type Timer,
  toLink,
  toTimer,
} from '../links.ts'
import { type StoredTask, toTask } from '../tasks.ts'
import type { Database, Rows, Statement } from './connections.ts'

const MOST = 1000
const LINKS: Statement = { name: 'links', text: 'SELECT * FROM links WHERE child_id = ANY($1::text[])' }
const CHILDREN: Statement = {
  name: 'links_of_parent',
  text:
    "SELECT * FROM links WHERE parent_id = $1 AND (NOT $2::boolean OR status = 'open') ORDER BY " +
    'opened_at, child_id LIMIT $3',
}
/** One statement, so that version and links are of one moment. */
const TREE: Statement = {
  name: 'tree',
  text:
    "SELECT t.version, l.* FROM trees t LEFT JOIN links l ON l.root_id = t.root_id AND l.status = 'open' " +
    'WHERE t.root_id = $1 ORDER BY l.depth, l.opened_at, l.child_id',
}
const TASK: Statement = { name: 'task', text: 'SELECT * FROM tasks WHERE task_id = $1' }
const TASKS: Statement = {
  name: 'tasks_of_owner',
  text: 'SELECT * FROM tasks WHERE owner_id = $1 ORDER BY created_at, task_id',
}
const SPAWNED_SINCE: Statement = {
  name: 'links_since',
  text: 'SELECT count(*) AS count FROM links WHERE root_id = $1 AND opened_at > $2',
}
const CLAIM_TIMERS: Statement = {
  name: 'claim_timers',
  text:
    'UPDATE timers SET claimed_by = $1, claimed_until = $2 WHERE id IN (\n' +
    '    SELECT id FROM timers WHERE due_at <= $3 AND claimed_until <= $3 ORDER BY due_at LIMIT $4 FOR ' +
    'UPDATE SKIP LOCKED) RETURNING *',
}

const toLinks = (rows: Rows): Link[] => rows.map(row => toLink(row as unknown as StoredLink))

/** By the ids of their children. */
export async function readLinks(db: Database, childIds: readonly string[]): Promise<Map<string, Link>> {
  if (childIds.length === 0) return new Map()
  const links = toLinks(await db.query(LINKS, [childIds], { repeatable: true }))
  return new Map(links.map(link => [link.child_id, link]))
}

export const createCoordinationReader = (db: Database): Omit<CoordinationStore, 'claimTimers'> => ({
  link: async childId => (await readLinks(db, [childId])).get(childId) ?? null,
  children: async (parentId, { open = false, limit = MOST } = {}) =>
    toLinks(await db.query(CHILDREN, [parentId, open, limit], { repeatable: true })),
  async task(taskId) {
    const [row] = await db.query(TASK, [taskId], { repeatable: true })
    return row === undefined ? null : toTask(row as unknown as StoredTask)
  },
  tasks: async ownerId =>
    (await db.query(TASKS, [ownerId], { repeatable: true })).map(row => toTask(row as unknown as StoredTask)),
  async spawnedSince(rootId, from) {
    const [row] = await db.query(SPAWNED_SINCE, [rootId, from], { repeatable: true })
    return Number(row?.['count'])
  },
  async tree(rootId) {
    const rows = await db.query(TREE, [rootId], { repeatable: true })
    return {
      version: Number(rows[0]?.['version'] ?? 0),
      open: toLinks(rows.filter(row => row['child_id'] !== null)),
    }
  },
})

export async function claimTimers(
  db: Database,
  now: number,
  by: string,
  limit: number,
  ttlMs: number,
): Promise<Timer[]> {
  const rows = await db.query(CLAIM_TIMERS, [by, now + ttlMs, now, limit])
  return rows.map(row => toTimer(row as unknown as StoredTimer))
}
