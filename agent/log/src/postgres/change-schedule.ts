/** Changes to schedules within a commit on Postgres, under the lock of the session they belong to. */
import { scheduleRefusals } from '../change-schedule.ts'
import { hasEnded, KEEP_RUNS_MS, type ScheduleChange, scheduleTimer } from '../schedules.ts'
import type { StoredSession } from '../session-rows.ts'
import { DROP_TIMER, SET_TIMER } from './change-link.ts'
import type { Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

const statement = (name: string, text: string): Statement => ({ name, text })

/**
 * The session's lock does not cover schedules of the owner's other sessions, so counting an owner's schedules
 * takes a lock on the owner.
 */
const LOCK_OWNER = statement(
  'lock_owner_of_schedules',
  "SELECT pg_advisory_xact_lock(hashtextextended('schedules ' || $1::text || ' ' || $2::text, 0))",
)
const COUNTS = statement(
  'count_schedules',
  'SELECT (SELECT count(*) FROM schedules WHERE session_id = $1 AND status IN ' +
    "('active', 'paused')) AS of_session, (SELECT count(*) FROM schedules WHERE org_id = $2 AND " +
    "created_by = $3 AND status IN ('active', 'paused')) AS of_owner",
)
const ADD = statement(
  'add_schedule',
  'INSERT INTO schedules (id, session_id, org_id, created_by, status, version, due_at, spec, state, ' +
    "created_at, updated_at) VALUES ($1, $2, $3, $4, 'active', 1, $5, $6, $7, $8, $8) ON CONFLICT (id) " +
    'DO NOTHING RETURNING id',
)
const MOVE = statement(
  'move_schedule',
  'UPDATE schedules SET status = $3, version = version + 1, due_at = $4, state = $5, spec = ' +
    'coalesce($6::text, spec), updated_at = $7 WHERE id = $1 AND version = $2 RETURNING id',
)
const PUT_RUN = statement(
  'put_schedule_run',
  'INSERT INTO schedule_runs AS r (schedule_id, slot_at, last_slot_at, status, reason, collapsed, manual, ' +
    'run_session_id, created_at, ended_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)\n' +
    '  ON CONFLICT (schedule_id, slot_at) DO UPDATE SET last_slot_at = greatest(r.last_slot_at, ' +
    'excluded.last_slot_at), status = excluded.status, reason = excluded.reason, collapsed = ' +
    'greatest(r.collapsed, excluded.collapsed), run_session_id = coalesce(excluded.run_session_id, ' +
    'r.run_session_id), ended_at = excluded.ended_at',
)
const DROP_RUNS = statement(
  'drop_schedule_runs',
  'DELETE FROM schedule_runs WHERE schedule_id = $1 AND slot_at < $2 AND ended_at IS NOT NULL',
)

export async function changeSchedule(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: ScheduleChange,
): Promise<void> {
  const setDue = async (id: string, session_id: string, due_at: number | null): Promise<void> => {
    if (due_at === null) await ask(DROP_TIMER, [scheduleTimer(id)])
    else await ask(SET_TIMER, [scheduleTimer(id), 'schedule', session_id, due_at, JSON.stringify({ id })])
  }
  switch (change.do) {
    case 'schedule.add': {
      const { schedule, most_of_session, most_of_owner } = change
      const { id, session_id, org_id, created_by, due_at } = schedule
      await ask(LOCK_OWNER, [org_id, created_by])
      const [counts] = await ask(COUNTS, [session_id, org_id, created_by])
      if (Number(counts?.['of_session']) >= most_of_session)
        throw scheduleRefusals.tooMany(row, `session ${session_id}`, most_of_session)
      if (Number(counts?.['of_owner']) >= most_of_owner)
        throw scheduleRefusals.tooMany(row, `principal ${created_by}`, most_of_owner)
      const [spec, state] = [JSON.stringify(schedule.spec), JSON.stringify(schedule.state)]
      const added = await ask(ADD, [id, session_id, org_id, created_by, due_at, spec, state, at])
      if (added.length === 0) throw scheduleRefusals.exists(row, id)
      await setDue(id, session_id, due_at)
      return
    }
    case 'schedule.move': {
      const { id, session_id, version, status, due_at } = change
      const spec = change.spec === undefined ? null : JSON.stringify(change.spec)
      const values = [id, version, status, due_at, JSON.stringify(change.state), spec, at]
      if ((await ask(MOVE, values)).length === 0) throw scheduleRefusals.moved(row, id)
      await setDue(id, session_id, due_at)
      return
    }
    case 'run.put': {
      const { run } = change
      const { schedule_id, slot_at, last_slot_at, status, reason, collapsed, run_session_id } = run
      await ask(DROP_RUNS, [schedule_id, at - KEEP_RUNS_MS])
      await ask(PUT_RUN, [
        schedule_id,
        slot_at,
        last_slot_at,
        status,
        reason,
        collapsed,
        run.manual ? 1 : 0,
        run_session_id,
        at,
        hasEnded(run) ? at : null,
      ])
      return
    }
  }
}
