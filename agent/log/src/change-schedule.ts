/** Changes to schedules within a commit, inside the writer's transaction. */
import { Refusing } from './commit-rules.ts'
import type { LinkSql } from './link-sql.ts'
import type { ScheduleSql } from './schedule-sql.ts'
import { hasEnded, KEEP_RUNS_MS, type ScheduleChange, scheduleTimer } from './schedules.ts'
import type { StoredSession } from './session-rows.ts'

/** Refusals of changes to schedules, worded alike for all stores. */
export const scheduleRefusals = {
  exists: (row: StoredSession, id: string) =>
    new Refusing('exists', `[commit] schedule ${id} exists already`, row),
  tooMany: (row: StoredSession, whose: string, most: number) =>
    new Refusing(
      'too_many_schedules',
      `[commit] ${whose} has ${most} schedules that have not ended, the maximum`,
      row,
    ),
  moved: (row: StoredSession, id: string) =>
    new Refusing('schedule_moved', `[commit] schedule ${id} has changed since it was read`, row),
}

export function changeSchedule(
  sql: ScheduleSql,
  { setTimer, dropTimer }: LinkSql,
  row: StoredSession,
  at: number,
  change: ScheduleChange,
): void {
  const setDue = (id: string, session_id: string, due_at: number | null): void => {
    if (due_at === null) dropTimer.run(scheduleTimer(id))
    else setTimer.run(scheduleTimer(id), 'schedule', session_id, due_at, JSON.stringify({ id }))
  }
  switch (change.do) {
    case 'schedule.add': {
      const { schedule, most_of_session, most_of_owner } = change
      const { id, session_id, org_id, created_by, due_at } = schedule
      if (sql.schedule.get(id) !== undefined) throw scheduleRefusals.exists(row, id)
      if (Number(sql.countOfSession.get(session_id)?.['count']) >= most_of_session)
        throw scheduleRefusals.tooMany(row, `session ${session_id}`, most_of_session)
      if (Number(sql.countOfOwner.get(org_id, created_by)?.['count']) >= most_of_owner)
        throw scheduleRefusals.tooMany(row, `principal ${created_by}`, most_of_owner)
      const [spec, state] = [JSON.stringify(schedule.spec), JSON.stringify(schedule.state)]
      sql.add.run({ id, session_id, org_id, created_by, due_at, spec, state, at })
      setDue(id, session_id, due_at)
      return
    }
    case 'schedule.move': {
      const { id, session_id, version, status, due_at } = change
      const state = JSON.stringify(change.state)
      const spec = change.spec === undefined ? null : JSON.stringify(change.spec)
      if (sql.move.get({ id, version, status, due_at, state, spec, at }) === undefined)
        throw scheduleRefusals.moved(row, id)
      setDue(id, session_id, due_at)
      return
    }
    case 'run.put': {
      const { run } = change
      sql.dropRuns.run(run.schedule_id, at - KEEP_RUNS_MS)
      sql.putRun.run({ ...run, manual: run.manual ? 1 : 0, at, ended_at: hasEnded(run) ? at : null })
      return
    }
  }
}
