/** Schedules on the embedded store. */
import { addToDirectory, orgNamed, orgOf } from '../../engine/directory.ts'
import { parseCursor, parseTimedCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import { prepareTimers } from '../timers/sqlite.ts'
import {
  checkScheduleLimits,
  hasEnded,
  KEEP_RUNS_MS,
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
    const enter = db.prepare(addToDirectory('schedule', '?', '?'))
    const countOfSession = db.prepare(`
      SELECT count(*) AS count FROM schedules
      WHERE org_key = ? AND session_id = ? AND status IN ('active', 'paused')`)
    const countOfOwner = db.prepare(`
      SELECT count(*) AS count FROM schedules
      WHERE org_key = ? AND created_by = ? AND status IN ('active', 'paused')`)
    const add = db.prepare(`
      INSERT INTO schedules (org_key, id, session_id, org_id, created_by, status, version, due_at, spec, state,
        created_at, updated_at)
      VALUES (:org_key, :id, :session_id, :org_id, :created_by, 'active', 1, :due_at, :spec, :state, :at, :at)`)
    const move = db.prepare(`
      UPDATE schedules
      SET status = :status, version = version + 1, due_at = :due_at, state = :state,
        spec = coalesce(:spec, spec), updated_at = :at
      WHERE org_key = :org_key AND id = :id AND version = :version
      RETURNING id`)
    const putRun = db.prepare(`
      INSERT INTO schedule_runs (org_key, schedule_id, slot_at, last_slot_at, status, reason, collapsed, manual,
        run_session_id, created_at, ended_at)
      VALUES (:org_key, :schedule_id, :slot_at, :last_slot_at, :status, :reason, :collapsed, :manual, :run_session_id,
        :at, :ended_at)
      ON CONFLICT (org_key, schedule_id, slot_at) DO UPDATE
      SET last_slot_at = max(last_slot_at, excluded.last_slot_at), status = excluded.status,
        reason = excluded.reason, collapsed = max(collapsed, excluded.collapsed),
        run_session_id = coalesce(excluded.run_session_id, run_session_id), ended_at = excluded.ended_at`)
    const dropRuns = db.prepare(`
      DELETE FROM schedule_runs
      WHERE org_key = ? AND schedule_id = ? AND slot_at < ? AND ended_at IS NOT NULL`)
    const timers = prepareTimers(db)
    const setDue = (org: number, id: string, session_id: string, due_at: number | null): void => {
      if (due_at === null) timers.drop.run(org, scheduleTimer(id))
      else timers.set.run(org, scheduleTimer(id), 'schedule', session_id, due_at, JSON.stringify({ id }))
    }
    return {
      'schedule.add'(change, { row, at }) {
        const { schedule } = change
        const { id, session_id, org_id, created_by, due_at } = schedule
        if (enter.get(id, row.org_key) === undefined) throw scheduleRefusals.exists(row, id)
        checkScheduleLimits(row, change, {
          of_session: Number(countOfSession.get(row.org_key, session_id)?.['count']),
          of_owner: Number(countOfOwner.get(row.org_key, created_by)?.['count']),
        })
        const [spec, state] = [JSON.stringify(schedule.spec), JSON.stringify(schedule.state)]
        add.run({ org_key: row.org_key, id, session_id, org_id, created_by, due_at, spec, state, at })
        setDue(row.org_key, id, session_id, due_at)
      },
      'schedule.move'(change, { row, at }) {
        const { id, session_id, version, status, due_at } = change
        const state = JSON.stringify(change.state)
        const spec = change.spec === undefined ? null : JSON.stringify(change.spec)
        if (move.get({ org_key: row.org_key, id, version, status, due_at, state, spec, at }) === undefined)
          throw scheduleRefusals.moved(row, id)
        setDue(row.org_key, id, session_id, due_at)
      },
      'run.put'({ run }, { row, at }) {
        dropRuns.run(row.org_key, run.schedule_id, at - KEEP_RUNS_MS)
        const ended_at = hasEnded(run) ? at : null
        putRun.run({ ...run, org_key: row.org_key, manual: run.manual ? 1 : 0, at, ended_at })
      },
    }
  },

  reads(db) {
    const schedule = db.prepare(`
      SELECT * FROM schedules WHERE org_key = ${orgOf('schedule', '?1')} AND id = ?1`)
    const schedules = db.prepare(`
      SELECT * FROM schedules
      WHERE org_key = ${orgNamed(':org')} AND (:by IS NULL OR created_by = :by)
        AND (:session IS NULL OR session_id = :session)
        AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
        AND (created_at, id) < (:at, :id)
      ORDER BY created_at DESC, id DESC LIMIT :limit`)
    const runs = db.prepare(`
      SELECT * FROM schedule_runs
      WHERE org_key = ${orgOf('schedule', '?1')} AND schedule_id = ?1 AND slot_at < ?2
      ORDER BY slot_at DESC LIMIT ?3`)
    return {
      get(id) {
        const row = schedule.get(id) as StoredSchedule | undefined
        return row === undefined ? null : toSchedule(row)
      },
      list({ org_id, created_by, session_id, status, limit, cursor }) {
        const { at, id } = parseTimedCursor(cursor)
        const rows = schedules.all({
          org: org_id,
          by: created_by ?? null,
          session: session_id ?? null,
          status: status === undefined ? null : JSON.stringify(status),
          at,
          id,
          limit: limit + 1,
        })
        return schedulePage(rows as StoredSchedule[], limit)
      },
      runs: (id, { limit, cursor }) =>
        runPage(runs.all(id, parseCursor(cursor), limit + 1) as StoredRun[], limit),
    }
  },
}
