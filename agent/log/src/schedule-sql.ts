/** The statements of schedules, prepared once for the writer of the embedded store. */
import type { Db } from './sqlite-adapter.ts'

export function prepareScheduleSql(db: Db) {
  return {
    schedule: db.prepare('SELECT id FROM schedules WHERE id = ?'),
    countOfSession: db.prepare(
      "SELECT count(*) AS count FROM schedules WHERE session_id = ? AND status IN ('active', 'paused')",
    ),
    countOfOwner: db.prepare(
      'SELECT count(*) AS count FROM schedules WHERE org_id = ? AND created_by = ? AND status IN ' +
        "('active', 'paused')",
    ),
    add: db.prepare(
      'INSERT INTO schedules (id, session_id, org_id, created_by, status, version, due_at, spec, state, ' +
        "created_at, updated_at) VALUES (:id, :session_id, :org_id, :created_by, 'active', 1, :due_at, " +
        ':spec, :state, :at, :at)',
    ),
    move: db.prepare(
      'UPDATE schedules SET status = :status, version = version + 1, due_at = :due_at, state = :state, ' +
        'spec = coalesce(:spec, spec), updated_at = :at WHERE id = :id AND version = :version RETURNING id',
    ),
    putRun: db.prepare(
      'INSERT INTO schedule_runs (schedule_id, slot_at, last_slot_at, status, reason, collapsed, manual, ' +
        'run_session_id, created_at, ended_at) VALUES (:schedule_id, :slot_at, :last_slot_at, :status, ' +
        ':reason, :collapsed, :manual, :run_session_id, :at, :ended_at)\n' +
        '  ON CONFLICT (schedule_id, slot_at) DO UPDATE SET last_slot_at = max(last_slot_at, ' +
        'excluded.last_slot_at), status = excluded.status, reason = excluded.reason, collapsed = ' +
        'max(collapsed, excluded.collapsed), run_session_id = coalesce(excluded.run_session_id, ' +
        'run_session_id), ended_at = excluded.ended_at',
    ),
    dropRuns: db.prepare(
      'DELETE FROM schedule_runs WHERE schedule_id = ? AND slot_at < ? AND ended_at IS NOT NULL',
    ),
  }
}
export type ScheduleSql = ReturnType<typeof prepareScheduleSql>
