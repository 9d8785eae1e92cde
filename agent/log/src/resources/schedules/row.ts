/**
 * Schedules, which start sessions at given times. The store knows when a schedule is due and who owns it; its
 * specification and state are opaque JSON. A row changes in the commits that decide its due times and that
 * end its runs.
 */
import { page, timedPage } from '../../engine/listing.ts'
import { Refusing } from '../../engine/refusing.ts'
import { redactJson } from '../../engine/redact-json.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'

type Json = Record<string, unknown>
type ScheduleStatus = 'active' | 'paused' | 'completed' | 'expired' | 'cancelled'

export type NewSchedule = {
  id: string
  /** The session that its runs report to. */
  session_id: string
  org_id: string
  created_by: string
  spec: Json
  state: Json
  /** Epoch milliseconds. */
  due_at: number | null
}
export type StoreSchedule = NewSchedule & {
  status: ScheduleStatus
  /** Increases with every change. */
  version: number
  created_at: number
  updated_at: number
}

/** The result of one scheduled time, or of several consecutive ones. */
export type ScheduleRun = {
  schedule_id: string
  slot_at: number
  last_slot_at: number
  status: 'queued' | 'running' | 'success' | 'failed' | 'skipped'
  reason: string | null
  /** Further times that the row stands for. */
  collapsed: number
  /** Started manually, not at a scheduled time. */
  manual: boolean
  run_session_id: string | null
  created_at: number
  ended_at: number | null
}

export type ScheduleChange =
  /**
   * Rejected with `exists` if the id is taken, and with `too_many_schedules` if its session or its owner has
   * reached the limit.
   */
  | { do: 'schedule.add'; schedule: NewSchedule; most_of_session: number; most_of_owner: number }
  /**
   * Guard and change: rejected with `schedule_moved` unless the schedule has this version. Replaces the time
   * at which it is due.
   */
  | ({ do: 'schedule.move'; version: number } & Pick<
      StoreSchedule,
      'id' | 'session_id' | 'status' | 'state' | 'due_at'
    > & { spec?: Json })
  /** Inserts a row, or updates an existing one. Deletes old rows of its schedule. */
  | { do: 'run.put'; run: Omit<ScheduleRun, 'created_at' | 'ended_at'> }

type ScheduleQuery = {
  org_id: string
  created_by?: string
  session_id?: string
  status?: readonly ScheduleStatus[]
  limit: number
  cursor?: string
}
export interface ScheduleReads {
  get(id: string): Promise<StoreSchedule | null>
  /** Newest first. */
  list(query: ScheduleQuery): Promise<{ schedules: StoreSchedule[]; next_cursor: string | null }>
  /** Newest times first. */
  runs(
    id: string,
    query: { limit: number; cursor?: string },
  ): Promise<{ runs: ScheduleRun[]; next_cursor: string | null }>
}

export const scheduleTimer = (id: string): string => `schedule:${id}`
/** How long rows of runs are kept. */
export const KEEP_RUNS_MS = 30 * 24 * 3600 * 1000
export const hasEnded = ({ status }: Pick<ScheduleRun, 'status'>): boolean =>
  status !== 'queued' && status !== 'running'

/** A schedule as it is stored. */
export type StoredSchedule = Omit<StoreSchedule, 'spec' | 'state'> & { spec: string; state: string }
export const toSchedule = ({ org_key: _, ...row }: Keyed<StoredSchedule>): StoreSchedule => ({
  ...row,
  spec: JSON.parse(row.spec) as Json,
  state: JSON.parse(row.state) as Json,
})
export type StoredRun = Omit<ScheduleRun, 'manual'> & { manual: number }
const toRun = ({ org_key: _, ...row }: Keyed<StoredRun>): ScheduleRun => ({
  ...row,
  manual: row.manual === 1,
})

/** `rows` has one more than the limit if there is a next page. */
export function schedulePage(rows: readonly StoredSchedule[], limit: number) {
  const { found, next_cursor } = timedPage(
    rows,
    limit,
    row => ({ at: row.created_at, id: row.id }),
    toSchedule,
  )
  return { schedules: found, next_cursor }
}
export function runPage(rows: readonly StoredRun[], limit: number) {
  const { found, next_cursor } = page(rows, limit, row => row.slot_at, toRun)
  return { runs: found, next_cursor }
}

export const scheduleChanges: Resource<ScheduleChange, ScheduleReads>['changes'] = {
  'schedule.add': {
    redact: (change, redact) => ({ ...change, schedule: redactJson(redact, change.schedule) }),
  },
  'schedule.move': {
    redact(change, redact) {
      const spec = change.spec === undefined ? {} : { spec: redactJson(redact, change.spec) }
      return { ...change, ...spec, state: redactJson(redact, change.state) }
    },
  },
  'run.put': {},
}

/** Refusals of changes to schedules, worded alike for all stores. */
export const scheduleRefusals = {
  exists: (row: StoredSession, id: string) =>
    new Refusing('exists', `[commit] schedule ${id} exists already`, row),
  moved: (row: StoredSession, id: string) =>
    new Refusing('schedule_moved', `[commit] schedule ${id} has changed since it was read`, row),
}

const tooMany = (row: StoredSession, whose: string, max: number): Refusing =>
  new Refusing(
    'too_many_schedules',
    `[commit] ${whose} has ${max} schedules that have not ended, the maximum`,
    row,
  )

/** Rejects a schedule if its session or its owner has reached the limit. */
export function checkScheduleLimits(
  row: StoredSession,
  { schedule, most_of_session, most_of_owner }: Extract<ScheduleChange, { do: 'schedule.add' }>,
  count: { of_session: number; of_owner: number },
): void {
  const { session_id, created_by } = schedule
  if (count.of_session >= most_of_session) throw tooMany(row, `session ${session_id}`, most_of_session)
  if (count.of_owner >= most_of_owner) throw tooMany(row, `principal ${created_by}`, most_of_owner)
}
