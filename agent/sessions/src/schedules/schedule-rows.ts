/** Converts rows of schedules for decisions, and decisions to row changes. */
import type { RowChange, StoreSchedule } from '@cairn/log'
import { derivedId } from '../derived-id.ts'
import type { Decision } from './pending-decision.ts'
import type { RunRef, Schedule, ScheduleSpec, ScheduleState } from './schedule.ts'

export const scheduleOf = ({ id, status, spec, state }: StoreSchedule): Schedule => ({
  id,
  status,
  spec: spec as ScheduleSpec,
  state: state as ScheduleState,
})

/** The id of a run's session, derived so that a repeated start finds the existing session. */
export const runId = (scheduleId: string, { slot_at }: Pick<RunRef, 'slot_at'>): string =>
  derivedId(scheduleId, slot_at)

/** `spec`: set if the specification changes too. */
export const rowsOf = (
  { id, session_id, version }: StoreSchedule,
  { status, state, due_at, rows }: Decision,
  spec?: ScheduleSpec,
): RowChange[] => [
  {
    do: 'schedule.move',
    id,
    session_id,
    version,
    status,
    state,
    due_at,
    ...(spec === undefined ? {} : { spec }),
  },
  ...rows.map((run): RowChange => ({
    do: 'run.put',
    run: {
      ...run,
      schedule_id: id,
      run_session_id: run.status === 'skipped' || run.status === 'queued' ? null : runId(id, run),
    },
  })),
]
