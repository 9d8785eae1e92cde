/** Reads of schedules on Postgres. */
import {
  parseRunCursor,
  parseScheduleCursor,
  runPage,
  schedulePage,
  type ScheduleReads,
  type StoredRun,
  type StoredSchedule,
  toSchedule,
} from '../schedules.ts'
import type { Database, Statement } from './connections.ts'

const SCHEDULE: Statement = { name: 'schedule', text: 'SELECT * FROM schedules WHERE id = $1' }
const SCHEDULES: Statement = {
  name: 'schedules',
  text:
    'SELECT * FROM schedules WHERE org_id = $1 AND ($2::text IS NULL OR created_by = $2::text) AND ' +
    '($3::text IS NULL OR session_id = $3::text) AND ($4::text[] IS NULL OR status = ANY($4::text[])) AND ' +
    '(created_at, id) < ($5::bigint, $6::text) ORDER BY created_at DESC, id DESC LIMIT $7',
}
const RUNS: Statement = {
  name: 'schedule_runs',
  text: 'SELECT * FROM schedule_runs WHERE schedule_id = $1 AND slot_at < $2 ORDER BY slot_at DESC LIMIT $3',
}

export const createScheduleReads = (db: Database): ScheduleReads => ({
  async schedule(id) {
    const [row] = await db.query(SCHEDULE, [id], { repeatable: true })
    return row === undefined ? null : toSchedule(row as StoredSchedule)
  },
  async schedules({ org_id, created_by, session_id, status, limit, cursor }) {
    const { created_at, id } = parseScheduleCursor(cursor)
    const whose = [org_id, created_by ?? null, session_id ?? null, status === undefined ? null : [...status]]
    const rows = await db.query(SCHEDULES, [...whose, created_at, id, limit + 1], { repeatable: true })
    return schedulePage(rows as StoredSchedule[], limit)
  },
  async scheduleRuns(id, { limit, cursor }) {
    const rows = await db.query(RUNS, [id, parseRunCursor(cursor), limit + 1], { repeatable: true })
    return runPage(rows as StoredRun[], limit)
  },
})
