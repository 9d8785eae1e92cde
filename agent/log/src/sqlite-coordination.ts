/** Links, trees and timers on the embedded store: reads here, timers claimed by the writer. */
import type { Db } from './sqlite-adapter.ts'
import type { BoardNote } from './board.ts'
import { createCodeRunReader } from './sqlite-code-runs.ts'
import { createMissionReader, type ReadsOf } from './sqlite-missions.ts'
import { type StoredTask, toTask } from './tasks.ts'
import {
  type CoordinationStore,
  linkPage,
  parseLinkCursor,
  type StoredTree,
  type StoredLink,
  type StoredTimer,
  toTrees,
  toLink,
  toTimer,
} from './links.ts'
import { descendantsSql } from './link-sql.ts'
import { createScheduleReader } from './sqlite-schedules.ts'
import type { Request } from './writer-messages.ts'

const MAX_ROWS = 1000

export type CoordinationReader = ReadsOf<Exclude<keyof CoordinationStore, 'claimTimers'>>

export function createCoordinationReader(db: Db): CoordinationReader {
  const link = db.prepare('SELECT * FROM links WHERE child_id = ?')
  const children = db.prepare(
    "SELECT * FROM links WHERE parent_id = ? AND (? = 0 OR status = 'open') AND kind <> 'run' " +
      'ORDER BY opened_at, child_id LIMIT ?',
  )
  /** One statement, so that version and links are consistent. */
  const tree = db.prepare(
    'SELECT t.version, l.* FROM trees t LEFT JOIN links l ON l.root_id = t.root_id AND l.status = ' +
      "'open' WHERE t.root_id = ? ORDER BY l.depth, l.opened_at, l.child_id",
  )
  const boardSeq = db.prepare('SELECT board_seq FROM trees WHERE root_id = ?')
  /** Excludes notes that were written between the two reads. */
  const notes = db.prepare(
    "SELECT * FROM board_notes WHERE root_id = ? AND seq <= ? AND status = 'active' ORDER BY seq",
  )
  const written = db.prepare(
    'SELECT count(*) AS count FROM board_notes WHERE root_id = ? AND writer_id = ? AND created_at > ?',
  )
  const task = db.prepare('SELECT * FROM tasks WHERE task_id = ?')
  const tasks = db.prepare('SELECT * FROM tasks WHERE owner_id = ? ORDER BY created_at, task_id')
  const since = db.prepare('SELECT count(*) AS count FROM links WHERE root_id = ? AND opened_at > ?')
  const BELOW =
    '(:status IS NULL OR l.status IN (SELECT value FROM json_each(:status))) AND (l.opened_at, ' +
    'l.child_id) < (:at, :child) ORDER BY l.opened_at DESC, l.child_id DESC LIMIT :limit'
  const belowRoot = db.prepare(`SELECT l.* FROM links l WHERE l.root_id = :id AND ${BELOW}`)
  const below = db.prepare(
    `${descendantsSql(':id')} SELECT l.* FROM below b JOIN links l ON l.child_id = b.id WHERE ${BELOW}`,
  )
  const families = db.prepare(
    'SELECT w.value AS id, coalesce(l.root_id, w.value) AS root_id, coalesce(l.depth, 0) AS depth,\n' +
      "  (SELECT count(*) FROM links c WHERE c.parent_id = w.value AND c.status = 'open' AND c.kind " +
      "<> 'run') AS open_children,\n" +
      '  (SELECT coalesce(sum(c.cost_usd), 0.0) FROM links c WHERE c.parent_id = w.value) AS ' +
      'children_cost_usd\n' +
      'FROM json_each(?) w LEFT JOIN links l ON l.child_id = w.value',
  )
  return {
    ...createCodeRunReader(db),
    ...createMissionReader(db),
    ...createScheduleReader(db),
    descendants(sessionId, { status, limit, cursor }) {
      const { opened_at, child_id } = parseLinkCursor(cursor)
      const isRoot = link.get(sessionId) === undefined
      const rows = (isRoot ? belowRoot : below).all({
        id: sessionId,
        status: status === undefined ? null : JSON.stringify(status),
        at: opened_at,
        child: child_id,
        limit: limit + 1,
      }) as StoredLink[]
      return linkPage(rows, limit)
    },
    sessionTrees: ids => toTrees(families.all(JSON.stringify(ids)) as StoredTree[], ids),
    link(childId) {
      const row = link.get(childId) as StoredLink | undefined
      return row === undefined ? null : toLink(row)
    },
    children: (parentId, { open, limit = MAX_ROWS } = {}) =>
      (children.all(parentId, open === true ? 1 : 0, limit) as StoredLink[]).map(toLink),
    board(rootId) {
      const last_seq = Number(boardSeq.get(rootId)?.['board_seq'] ?? 0)
      return { last_seq, notes: notes.all(rootId, last_seq) as BoardNote[] }
    },
    task(taskId) {
      const row = task.get(taskId) as StoredTask | undefined
      return row === undefined ? null : toTask(row)
    },
    tasks: ownerId => (tasks.all(ownerId) as StoredTask[]).map(toTask),
    notesSince: (rootId, writer, from) => Number(written.get(rootId, writer, from)?.['count']),
    spawnedSince: (rootId, from) => Number(since.get(rootId, from)?.['count']),
    tree(rootId) {
      const rows = tree.all(rootId) as (StoredLink & { version: number; child_id: string | null })[]
      return {
        version: rows[0]?.version ?? 0,
        open: rows.flatMap(row => (row.child_id === null ? [] : [toLink(row)])),
      }
    },
  }
}

/** `ask` sends a request to the writer. */
export function createCoordination(
  db: Db,
  now: () => number,
  ask: (request: Request) => Promise<unknown>,
): CoordinationStore {
  const reader = createCoordinationReader(db)
  return {
    codeRuns: async (sessionId, limit) => reader.codeRuns(sessionId, limit),
    schedule: async id => reader.schedule(id),
    schedules: async query => reader.schedules(query),
    scheduleRuns: async (id, query) => reader.scheduleRuns(id, query),
    link: async childId => reader.link(childId),
    descendants: async (sessionId, query) => reader.descendants(sessionId, query),
    sessionTrees: async ids => reader.sessionTrees(ids),
    children: async (parentId, query) => reader.children(parentId, query),
    tree: async rootId => reader.tree(rootId),
    board: async rootId => reader.board(rootId),
    notesSince: async (rootId, writerId, from) => reader.notesSince(rootId, writerId, from),
    task: async taskId => reader.task(taskId),
    tasks: async ownerId => reader.tasks(ownerId),
    mission: async missionId => reader.mission(missionId),
    missionOf: async sessionId => reader.missionOf(sessionId),
    branches: async runId => reader.branches(runId),
    sources: async runId => reader.sources(runId),
    missions: async query => reader.missions(query),
    spawnedSince: async (rootId, from) => reader.spawnedSince(rootId, from),
    claimTimers: async (by, limit, ttl) =>
      ((await ask({ do: 'claimTimers', at: now(), by, limit, ttl })) as StoredTimer[]).map(timer =>
        toTimer(timer, ttl),
      ),
  }
}
