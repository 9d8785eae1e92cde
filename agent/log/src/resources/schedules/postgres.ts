/** Schedules on Postgres; changes run under the lock of the session that the schedule belongs to. */
import { addToDirectory, orgNamed, orgOf } from '../../engine/directory.ts'
import { parseCursor, parseTimedCursor } from '../../engine/listing.ts'
import type { Ask, Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { DROP_TIMER, SET_TIMER } from '../timers/postgres.ts'
import {
  checkScheduleLimits,
  hasEnded,
  KEEP_RUNS_MS,
  type NewSchedule,
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

/**
 * The session's lock does not cover schedules of the owner's other sessions, so counting an owner's schedules
 * takes a lock on the owner.
 */
const LOCK_OWNER: Statement = {
  name: 'lock_owner_of_schedules',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('schedules ' || $1::text || ' ' || $2::text, 0))`,
}
const COUNTS: Statement = {
  name: 'count_schedules',
  text: `
    SELECT
      (SELECT count(*) FROM schedules
       WHERE org_key = $2 AND session_id = $1 AND status IN ('active', 'paused')) AS of_session,
      (SELECT count(*) FROM schedules
       WHERE org_key = $2 AND created_by = $3 AND status IN ('active', 'paused')) AS of_owner`,
}
const ADD: Statement = {
  name: 'add_schedule',
  text: `
    WITH entry AS (${addToDirectory('schedule', '$1', '$9')})
    INSERT INTO schedules (id, session_id, org_id, created_by, status, version, due_at, spec, state,
      created_at, updated_at, org_key)
    SELECT $1, $2, $3, $4, 'active', 1, $5::bigint, $6, $7, $8::bigint, $8::bigint, $9 FROM entry
    RETURNING id`,
}
const MOVE: Statement = {
  name: 'move_schedule',
  text: `
    UPDATE schedules
    SET status = $3, version = version + 1, due_at = $4, state = $5, spec = coalesce($6::text, spec),
      updated_at = $7
    WHERE org_key = $8 AND id = $1 AND version = $2
    RETURNING id`,
}
const PUT_RUN: Statement = {
  name: 'put_schedule_run',
  text: `
    INSERT INTO schedule_runs AS r (schedule_id, slot_at, last_slot_at, status, reason, collapsed, manual,
      run_session_id, created_at, ended_at, org_key)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (org_key, schedule_id, slot_at) DO UPDATE
    SET last_slot_at = greatest(r.last_slot_at, excluded.last_slot_at), status = excluded.status,
      reason = excluded.reason, collapsed = greatest(r.collapsed, excluded.collapsed),
      run_session_id = coalesce(excluded.run_session_id, r.run_session_id), ended_at = excluded.ended_at`,
}
const DROP_RUNS: Statement = {
  name: 'drop_schedule_runs',
  text: `
    DELETE FROM schedule_runs
    WHERE org_key = $1 AND schedule_id = $2 AND slot_at < $3 AND ended_at IS NOT NULL`,
}
const SCHEDULE: Statement = {
  name: 'schedule',
  text: `SELECT * FROM schedules WHERE org_key = ${orgOf('schedule', '$1')} AND id = $1`,
}
const SCHEDULES: Statement = {
  name: 'schedules',
  text: `
    SELECT * FROM schedules
    WHERE org_key = ${orgNamed('$1')} AND ($2::text IS NULL OR created_by = $2::text)
      AND ($3::text IS NULL OR session_id = $3::text) AND ($4::text[] IS NULL OR status = ANY($4::text[]))
      AND (created_at, id) < ($5::bigint, $6::text)
    ORDER BY created_at DESC, id DESC LIMIT $7`,
}
const RUNS: Statement = {
  name: 'schedule_runs',
  text: `
    SELECT * FROM schedule_runs
    WHERE org_key = ${orgOf('schedule', '$1')} AND schedule_id = $1 AND slot_at < $2
    ORDER BY slot_at DESC LIMIT $3`,
}

async function setDue(
  ask: Ask,
  orgKey: number,
  { id, session_id, due_at }: Pick<NewSchedule, 'id' | 'session_id' | 'due_at'>,
): Promise<void> {
  const timer = scheduleTimer(id)
  if (due_at === null) await ask(DROP_TIMER, [orgKey, timer])
  else await ask(SET_TIMER, [orgKey, timer, 'schedule', session_id, due_at, JSON.stringify({ id })])
}

export const schedulesOnPostgres: Resource<ScheduleChange, ScheduleReads>['postgres'] = {
  changes: {
    async 'schedule.add'(ask, change, { row, at }) {
      const { schedule } = change
      const { id, session_id, org_id, created_by, due_at } = schedule
      await ask(LOCK_OWNER, [org_id, created_by])
      const [counts] = await ask(COUNTS, [session_id, row.org_key, created_by])
      checkScheduleLimits(row, change, {
        of_session: Number(counts?.['of_session']),
        of_owner: Number(counts?.['of_owner']),
      })
      const [spec, state] = [JSON.stringify(schedule.spec), JSON.stringify(schedule.state)]
      const added = await ask(ADD, [id, session_id, org_id, created_by, due_at, spec, state, at, row.org_key])
      if (added.length === 0) throw scheduleRefusals.exists(row, id)
      await setDue(ask, row.org_key, schedule)
    },
    async 'schedule.move'(ask, change, { row, at }) {
      const { id, version, status, due_at } = change
      const spec = change.spec === undefined ? null : JSON.stringify(change.spec)
      const values = [id, version, status, due_at, JSON.stringify(change.state), spec, at, row.org_key]
      if ((await ask(MOVE, values)).length === 0) throw scheduleRefusals.moved(row, id)
      await setDue(ask, row.org_key, change)
    },
    async 'run.put'(ask, { run }, { row, at }) {
      const { schedule_id, slot_at, last_slot_at, status, reason, collapsed, run_session_id } = run
      await ask(DROP_RUNS, [row.org_key, schedule_id, at - KEEP_RUNS_MS])
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
        row.org_key,
      ])
    },
  },

  store: ({ db }) => ({
    async get(id) {
      const [row] = await db.query(SCHEDULE, [id], { repeatable: true })
      return row === undefined ? null : toSchedule(row as StoredSchedule)
    },
    async list({ org_id, created_by, session_id, status, limit, cursor }) {
      const { at, id } = parseTimedCursor(cursor)
      const whose = [
        org_id,
        created_by ?? null,
        session_id ?? null,
        status === undefined ? null : [...status],
      ]
      const rows = await db.query(SCHEDULES, [...whose, at, id, limit + 1], { repeatable: true })
      return schedulePage(rows as StoredSchedule[], limit)
    },
    async runs(id, { limit, cursor }) {
      const rows = await db.query(RUNS, [id, parseCursor(cursor), limit + 1], { repeatable: true })
      return runPage(rows as StoredRun[], limit)
    },
  }),
}
