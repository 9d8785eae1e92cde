/** Reads of schedules on the embedded store. */
import {
  parseRunCursor,
  parseScheduleCursor,
  runPage,
  schedulePage,
  type ScheduleReads,
  type StoredRun,
  type StoredSchedule,
  toSchedule,
} from './schedules.ts'
import type { Db } from './sqlite-adapter.ts'

type ScheduleReader = {
  [K in keyof ScheduleReads]: (...args: Parameters<ScheduleReads[K]>) => Awaited<ReturnType<ScheduleReads[K]>>
}

export function createScheduleReader(db: Db): ScheduleReader {
  const schedule = db.prepare('SELECT * FROM schedules WHERE id = ?')
  const schedules = db.prepare(
    'SELECT * FROM schedules WHERE org_id = :org AND (:by IS NULL OR created_by = :by) AND (:session IS ' +
      'NULL OR session_id = :session) AND (:status IS NULL OR status IN (SELECT value FROM ' +
      'json_each(:status))) AND (created_at, id) < (:at, :id) ORDER BY created_at DESC, id DESC LIMIT :limit',
  )
  const runs = db.prepare(
    'SELECT * FROM schedule_runs WHERE schedule_id = ? AND slot_at < ? ORDER BY slot_at DESC LIMIT ?',
  )
  return {
    schedule(id) {
      const row = schedule.get(id) as StoredSchedule | undefined
      return row === undefined ? null : toSchedule(row)
    },
    schedules({ org_id, created_by, session_id, status, limit, cursor }) {
      const { created_at, id } = parseScheduleCursor(cursor)
      const rows = schedules.all({
        org: org_id,
        by: created_by ?? null,
        session: session_id ?? null,
        status: status === undefined ? null : JSON.stringify(status),
        at: created_at,
        id,
        limit: limit + 1,
      })
      return schedulePage(rows as StoredSchedule[], limit)
    },
    scheduleRuns: (id, { limit, cursor }) =>
      runPage(runs.all(id, parseRunCursor(cursor), limit + 1) as StoredRun[], limit),
  }
}
