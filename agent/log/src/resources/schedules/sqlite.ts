/** Schedules on the embedded store. */
import type { Resource } from '../../engine/resource.ts'
import { prepareTimers } from '../timers/sqlite.ts'
import {
  hasEnded,
  KEEP_RUNS_MS,
  parseRunCursor,
  parseScheduleCursor,
  runPage,
  type ScheduleChange,
  schedulePage,
  type ScheduleReads,
  scheduleRefusals,
  scheduleTimer,
  type StoredRun,
  type StoredSchedule,
  toSchedule,
} from './row.ts'

export const schedulesOnSqlite: Resource<ScheduleChange, ScheduleReads>['sqlite'] = {
  changes(db) {
    const found = db.prepare(`SELECT id FROM schedules WHERE id = ?`)
    const countOfSession = db.prepare(`
      SELECT count(*) AS count FROM schedules WHERE session_id = ? AND status IN ('active', 'paused')`)
    const countOfOwner = db.prepare(`
      SELECT count(*) AS count FROM schedules
      WHERE org_id = ? AND created_by = ? AND status IN ('active', 'paused')`)
    const add = db.prepare(`
      INSERT INTO schedules (id, session_id, org_id, created_by, status, version, due_at, spec, state,
        created_at, updated_at)
      VALUES (:id, :session_id, :org_id, :created_by, 'active', 1, :due_at, :spec, :state, :at, :at)`)
    const move = db.prepare(`
      UPDATE schedules
      SET status = :status, version = version + 1, due_at = :due_at, state = :state,
        spec = coalesce(:spec, spec), updated_at = :at
      WHERE id = :id AND version = :version
      RETURNING id`)
    const putRun = db.prepare(`
      INSERT INTO schedule_runs (schedule_id, slot_at, last_slot_at, status, reason, collapsed, manual,
        run_session_id, created_at, ended_at)
      VALUES (:schedule_id, :slot_at, :last_slot_at, :status, :reason, :collapsed, :manual, :run_session_id,
        :at, :ended_at)
      ON CONFLICT (schedule_id, slot_at) DO UPDATE
      SET last_slot_at = max(last_slot_at, excluded.last_slot_at), status = excluded.status,
        reason = excluded.reason, collapsed = max(collapsed, excluded.collapsed),
        run_session_id = coalesce(excluded.run_session_id, run_session_id), ended_at = excluded.ended_at`)
    const dropRuns = db.prepare(`
      DELETE FROM schedule_runs WHERE schedule_id = ? AND slot_at < ? AND ended_at IS NOT NULL`)
    const timers = prepareTimers(db)
    const setDue = (id: string, session_id: string, due_at: number | null): void => {
      if (due_at === null) timers.drop.run(scheduleTimer(id))
      else timers.set.run(scheduleTimer(id), 'schedule', session_id, due_at, JSON.stringify({ id }))
    }
    return {
      'schedule.add'({ schedule, most_of_session, most_of_owner }, { row, at }) {
        const { id, session_id, org_id, created_by, due_at } = schedule
        if (found.get(id) !== undefined) throw scheduleRefusals.exists(row, id)
        if (Number(countOfSession.get(session_id)?.['count']) >= most_of_session)
          throw scheduleRefusals.tooMany(row, `session ${session_id}`, most_of_session)
        if (Number(countOfOwner.get(org_id, created_by)?.['count']) >= most_of_owner)
          throw scheduleRefusals.tooMany(row, `principal ${created_by}`, most_of_owner)
        const [spec, state] = [JSON.stringify(schedule.spec), JSON.stringify(schedule.state)]
        add.run({ id, session_id, org_id, created_by, due_at, spec, state, at })
        setDue(id, session_id, due_at)
      },
      'schedule.move'(change, { row, at }) {
        const { id, session_id, version, status, due_at } = change
        const state = JSON.stringify(change.state)
        const spec = change.spec === undefined ? null : JSON.stringify(change.spec)
        if (move.get({ id, version, status, due_at, state, spec, at }) === undefined)
          throw scheduleRefusals.moved(row, id)
        setDue(id, session_id, due_at)
      },
      'run.put'({ run }, { at }) {
        dropRuns.run(run.schedule_id, at - KEEP_RUNS_MS)
        putRun.run({ ...run, manual: run.manual ? 1 : 0, at, ended_at: hasEnded(run) ? at : null })
      },
    }
  },

  reads(db) {
    const schedule = db.prepare(`SELECT * FROM schedules WHERE id = ?`)
    const schedules = db.prepare(`
      SELECT * FROM schedules
      WHERE org_id = :org AND (:by IS NULL OR created_by = :by)
        AND (:session IS NULL OR session_id = :session)
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
        AND (created_at, id) < (:at, :id)
      ORDER BY created_at DESC, id DESC LIMIT :limit`)
    const runs = db.prepare(`
      SELECT * FROM schedule_runs WHERE schedule_id = ? AND slot_at < ? ORDER BY slot_at DESC LIMIT ?`)
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
  },
}
