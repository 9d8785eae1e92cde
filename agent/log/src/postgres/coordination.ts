/** Links, trees and timers on Postgres: reads, and the claims of timers. */
import {
  type CoordinationStore,
  type Link,
  linkPage,
  parseLinkCursor,
  type StoredTree,
  type StoredLink,
  type StoredTimer,
  type Timer,
  toTrees,
  toLink,
  toTimer,
} from '../links.ts'
import type { BoardNote } from '../board.ts'
import { parseCursor } from '../listing.ts'
import { type StoredBranch, type StoredSource, toBranch, toSource } from '../research.ts'
import { missionPage, type StoredMission, toMission } from '../missions.ts'
import { type StoredTask, toTask } from '../tasks.ts'
import { descendantsSql } from '../link-sql.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { createCodeRunReads } from './change-code-run.ts'
import { createScheduleReads } from './schedules.ts'

const MAX_ROWS = 1000
const LINKS: Statement = { name: 'links', text: 'SELECT * FROM links WHERE child_id = ANY($1::text[])' }
const CHILDREN: Statement = {
  name: 'links_of_parent',
  text:
    "SELECT * FROM links WHERE parent_id = $1 AND (NOT $2::boolean OR status = 'open') AND kind <> 'run' " +
    'ORDER BY opened_at, child_id LIMIT $3',
}
/** One statement, so that version and links are consistent. */
const TREE: Statement = {
  name: 'tree',
  text:
    "SELECT t.version, l.* FROM trees t LEFT JOIN links l ON l.root_id = t.root_id AND l.status = 'open' " +
    'WHERE t.root_id = $1 ORDER BY l.depth, l.opened_at, l.child_id',
}
const NOTES_SINCE: Statement = {
  name: 'notes_since',
  text: 'SELECT count(*) AS count FROM board_notes WHERE root_id = $1 AND writer_id = $2 AND created_at > $3',
}
const BOARD_SEQ: Statement = { name: 'board_seq_of', text: 'SELECT board_seq FROM trees WHERE root_id = $1' }
/** Excludes notes that were written between the two reads. */
const NOTES: Statement = {
  name: 'notes_of_board',
  text: "SELECT * FROM board_notes WHERE root_id = $1 AND seq <= $2 AND status = 'active' ORDER BY seq",
}
const TASK: Statement = { name: 'task', text: 'SELECT * FROM tasks WHERE task_id = $1' }
const TASKS: Statement = {
  name: 'tasks_of_owner',
  text: 'SELECT * FROM tasks WHERE owner_id = $1 ORDER BY created_at, task_id',
}
const MISSION: Statement = { name: 'mission', text: 'SELECT * FROM missions WHERE mission_id = $1' }
const MISSION_OF: Statement = {
  name: 'mission_of_session',
  text: 'SELECT * FROM missions WHERE session_id = $1 AND ended_at IS NULL',
}
const MISSIONS: Statement = {
  name: 'missions',
  text:
    'SELECT * FROM missions WHERE org_id = $1 AND ($2::text IS NULL OR created_by = $2) AND ($3::text IS ' +
    'NULL OR session_id = $3) AND ($4::text[] IS NULL OR status = ANY($4::text[])) AND key < $5 ' +
    'ORDER BY key DESC LIMIT $6',
}
const BRANCHES: Statement = {
  name: 'branches_of_run',
  text: 'SELECT * FROM research_branches WHERE run_id = $1 ORDER BY created_at, key',
}
const SOURCES: Statement = {
  name: 'sources_of_run',
  text: 'SELECT * FROM research_sources WHERE run_id = $1 ORDER BY number',
}
const SPAWNED_SINCE: Statement = {
  name: 'links_since',
  text: 'SELECT count(*) AS count FROM links WHERE root_id = $1 AND opened_at > $2',
}
const PLACED =
  '($2::text[] IS NULL OR l.status = ANY($2::text[])) AND (l.opened_at, l.child_id) < ($3::bigint, ' +
  '$4::text) ORDER BY l.opened_at DESC, l.child_id DESC LIMIT $5'
const BELOW_ROOT: Statement = {
  name: 'links_below_root',
  text: `SELECT l.* FROM links l WHERE l.root_id = $1 AND ${PLACED}`,
}
const BELOW: Statement = {
  name: 'links_below',
  text: `${descendantsSql('$1')} SELECT l.* FROM below b JOIN links l ON l.child_id = b.id WHERE ${PLACED}`,
}
const FAMILIES: Statement = {
  name: 'families',
  text:
    'SELECT w.id, coalesce(l.root_id, w.id) AS root_id, coalesce(l.depth, 0) AS depth,\n' +
    "  (SELECT count(*) FROM links c WHERE c.parent_id = w.id AND c.status = 'open' AND c.kind <> 'run') " +
    'AS open_children,\n' +
    '  (SELECT coalesce(sum(c.cost_usd), 0) FROM links c WHERE c.parent_id = w.id) AS children_cost_usd\n' +
    'FROM unnest($1::text[]) AS w (id) LEFT JOIN links l ON l.child_id = w.id',
}
const CLAIM_TIMERS: Statement = {
  name: 'claim_timers',
  text:
    'UPDATE timers SET claimed_by = $1, claimed_until = $2 WHERE id IN (\n' +
    '    SELECT id FROM timers WHERE due_at <= $3 AND claimed_until <= $3 ORDER BY due_at LIMIT $4 FOR ' +
    'UPDATE SKIP LOCKED) RETURNING *',
}

const toLinks = (rows: Rows): Link[] => rows.map(row => toLink(row as StoredLink))

/** Keyed by child id. */
export async function readLinks(db: Database, childIds: readonly string[]): Promise<Map<string, Link>> {
  if (childIds.length === 0) return new Map()
  const links = toLinks(await db.query(LINKS, [childIds], { repeatable: true }))
  return new Map(links.map(link => [link.child_id, link]))
}

export const createCoordinationReader = (db: Database): Omit<CoordinationStore, 'claimTimers'> => ({
  ...createScheduleReads(db),
  ...createCodeRunReads(db),
  link: async childId => (await readLinks(db, [childId])).get(childId) ?? null,
  children: async (parentId, { open = false, limit = MAX_ROWS } = {}) =>
    toLinks(await db.query(CHILDREN, [parentId, open, limit], { repeatable: true })),
  async board(rootId) {
    const [tree] = await db.query(BOARD_SEQ, [rootId], { repeatable: true })
    const last_seq = Number(tree?.['board_seq'] ?? 0)
    const notes = await db.query(NOTES, [rootId, last_seq], { repeatable: true })
    return { last_seq, notes: notes as BoardNote[] }
  },
  async task(taskId) {
    const [row] = await db.query(TASK, [taskId], { repeatable: true })
    return row === undefined ? null : toTask(row as StoredTask)
  },
  tasks: async ownerId =>
    (await db.query(TASKS, [ownerId], { repeatable: true })).map(row => toTask(row as StoredTask)),
  async mission(missionId) {
    const [row] = await db.query(MISSION, [missionId], { repeatable: true })
    return row === undefined ? null : toMission(row as StoredMission)
  },
  async missionOf(sessionId) {
    const [row] = await db.query(MISSION_OF, [sessionId], { repeatable: true })
    return row === undefined ? null : toMission(row as StoredMission)
  },
  async missions({ org_id, created_by, session_id, status, limit, cursor }) {
    const rows = await db.query(
      MISSIONS,
      [
        org_id,
        created_by ?? null,
        session_id ?? null,
        status === undefined ? null : [...status],
        parseCursor(cursor),
        limit + 1,
      ],
      { repeatable: true },
    )
    return missionPage(rows as StoredMission[], limit)
  },
  branches: async runId =>
    (await db.query(BRANCHES, [runId], { repeatable: true })).map(row => toBranch(row as StoredBranch)),
  sources: async runId =>
    (await db.query(SOURCES, [runId], { repeatable: true })).map(row => toSource(row as StoredSource)),
  async notesSince(rootId, writerId, from) {
    const [row] = await db.query(NOTES_SINCE, [rootId, writerId, from], { repeatable: true })
    return Number(row?.['count'])
  },
  async spawnedSince(rootId, from) {
    const [row] = await db.query(SPAWNED_SINCE, [rootId, from], { repeatable: true })
    return Number(row?.['count'])
  },
  async descendants(sessionId, { status, limit, cursor }) {
    const { opened_at, child_id } = parseLinkCursor(cursor)
    const isRoot = !(await readLinks(db, [sessionId])).has(sessionId)
    const rows = await db.query(
      isRoot ? BELOW_ROOT : BELOW,
      [sessionId, status === undefined ? null : [...status], opened_at, child_id, limit + 1],
      { repeatable: true },
    )
    return linkPage(rows as StoredLink[], limit)
  },
  sessionTrees: async ids =>
    toTrees((await db.query(FAMILIES, [[...ids]], { repeatable: true })) as StoredTree[], ids),
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
  return rows.map(row => toTimer(row as StoredTimer, ttlMs))
}
