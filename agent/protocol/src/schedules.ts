/** Schedules over the API: their views and their routes, which routes.ts includes. */
import { z } from 'zod'
import { RUN_OUTCOMES } from './events.ts'

const timestamp = z.string()
const count = z.int().nonnegative()

/** Input keys of a schedule. Rules between keys are checked when the schedule is created. */
const wish = {
  prompt: z
    .string()
    .regex(/[^\s\u200b-\u200d\u2060]/, 'must not be blank')
    .max(20_000)
    .describe('what each run is told'),
  name: z.string().trim().min(1).max(120).optional(),
  cron: z.string().max(200).optional().describe('five fields, or @hourly to @yearly'),
  every_s: z.int().optional().describe('seconds between slots, at least 60'),
  at: z.string().max(40).optional().describe('one slot, RFC 3339'),
  timezone: z.string().max(64).optional().describe('of cron, a name such as Europe/Berlin'),
  missed: z
    .enum(['once', 'skip'])
    .optional()
    .describe('what becomes of slots that nobody could act on: one run for all, or none'),
  catch_up_s: z.int().min(0).max(2_592_000).optional().describe('older slots are never made up for'),
  overlap: z
    .enum(['skip', 'queue', 'replace'])
    .optional()
    .describe('a slot while a run is under way: passed over, waits, takes its place'),
  jitter_s: z.int().min(0).max(3600).optional().describe('shifts all slots by a time of its own up to that'),
  max_runs: z.int().positive().optional(),
  expires_at: z.string().max(40).optional().describe('RFC 3339'),
  on_result: z.enum(['note', 'wake']).optional().describe('note: the session reads it in its next turn'),
}
const NewSchedule = z.strictObject({ session_id: z.string(), ...wish })
export type ScheduleInput = Omit<z.infer<typeof NewSchedule>, 'session_id'>
export type ScheduleChangeInput = { [K in keyof ScheduleInput]?: ScheduleInput[K] | undefined }

const ScheduleView = z
  .object({
    id: z.string(),
    session_id: z.string().describe('the session that is told of its results'),
    name: z.string().nullable(),
    prompt: z.string(),
    kind: z.enum(['cron', 'interval', 'once']),
    cron: z.string().nullable(),
    every_s: count.nullable(),
    at: timestamp.nullable(),
    timezone: z.string(),
    missed: z.enum(['once', 'skip']),
    catch_up_s: count,
    overlap: z.enum(['skip', 'queue', 'replace']),
    jitter_s: count,
    max_runs: count.nullable(),
    expires_at: timestamp.nullable(),
    on_result: z.enum(['note', 'wake']),
    status: z.enum(['active', 'paused', 'completed', 'expired', 'cancelled']),
    reason: z.string().nullable().describe('why it is paused or over'),
    next: z.array(timestamp).describe('the next slots, at most five'),
    run_count: count.describe('runs that began'),
    slot_count: count.describe('slots that passed while it was active'),
    skipped_count: count.describe('of them those that no run began for'),
    failures: count.describe('in a row'),
    running_session_id: z.string().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Schedule' })
export type ScheduleView = z.infer<typeof ScheduleView>

const ScheduleRunView = z
  .object({
    slot_at: timestamp,
    last_slot_at: timestamp,
    status: z.enum(['queued', 'running', 'success', 'failed', 'skipped']),
    reason: z
      .enum(['missed', 'overlap', 'backoff', 'paused', ...RUN_OUTCOMES])
      .nullable()
      .describe('why it was skipped, or how it ended'),
    collapsed: count.describe('slots beside the first that this stands for'),
    manual: z.boolean(),
    run_session_id: z.string().nullable(),
    created_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'ScheduleRun' })
export type ScheduleRunView = z.infer<typeof ScheduleRunView>

const NextTime = z.object({
  at: timestamp,
  local: z.string().describe('as a clock of that zone shows it'),
  note: z.string().nullable().describe('why it is another time, or comes twice, on that day'),
})
export type NextTime = z.infer<typeof NextTime>

const page = {
  limit: z
    .string()
    .regex(/^-?\d{1,15}$/, 'limit must be an integer')
    .transform(Number)
    .optional(),
  cursor: z.string().optional(),
}
const statuses = z
  .string()
  .transform(text => text.split(','))
  .pipe(z.array(z.enum(['active', 'paused', 'completed', 'expired', 'cancelled'])))
const onSchedule = { access: 'any', alias: true } as const

export const SCHEDULE_ROUTES = {
  createSchedule: {
    method: 'POST',
    path: '/schedules',
    errors: ['not_found', 'wrong_state', 'limit_reached', 'invalid_schedule'],
    summary: 'Make a schedule: runs of the agent of a session, at times',
    ...onSchedule,
    creates: true,
    body: NewSchedule,
    status: 201,
    answer: ScheduleView,
  },
  listSchedules: {
    method: 'GET',
    path: '/schedules',
    summary: 'Schedules, newest first',
    ...onSchedule,
    query: z.object({ ...page, status: statuses.optional(), session_id: z.string().optional() }),
    status: 200,
    answer: z.object({ schedules: z.array(ScheduleView), next_cursor: z.string().nullable() }),
  },
  previewSchedule: {
    method: 'POST',
    path: '/schedules/preview',
    errors: ['invalid_schedule'],
    summary: 'The next times of an expression, and what is odd about them',
    ...onSchedule,
    body: z.strictObject({
      cron: z.string().max(200).optional(),
      every_s: z.int().optional(),
      timezone: z.string().max(64).optional(),
      count: z.int().min(1).max(20).default(5),
    }),
    status: 200,
    answer: z.object({ timezone: z.string(), next: z.array(NextTime) }),
  },
  getSchedule: {
    method: 'GET',
    path: '/schedules/{schedule_id}',
    summary: 'One schedule',
    ...onSchedule,
    status: 200,
    answer: ScheduleView,
  },
  changeSchedule: {
    method: 'PATCH',
    path: '/schedules/{schedule_id}',
    summary: 'Change a schedule that is not over; the next slot is counted from now',
    ...onSchedule,
    body: z.strictObject({ ...wish, prompt: wish.prompt.optional() }),
    status: 200,
    answer: ScheduleView,
  },
  cancelSchedule: {
    method: 'DELETE',
    path: '/schedules/{schedule_id}',
    summary: 'End a schedule; a run under way goes on and reports',
    ...onSchedule,
    status: 204,
  },
  pauseSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/pause',
    summary: 'Pause a schedule; slots that pass meanwhile are not owed',
    ...onSchedule,
    status: 200,
    answer: ScheduleView,
  },
  resumeSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/resume',
    summary: 'Go on with a paused schedule, from now',
    ...onSchedule,
    status: 200,
    answer: ScheduleView,
  },
  runSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/run',
    summary: 'A run now, beside the slots',
    ...onSchedule,
    creates: true,
    status: 202,
    answer: ScheduleView,
  },
  listScheduleRuns: {
    method: 'GET',
    path: '/schedules/{schedule_id}/runs',
    summary: 'What became of its slots, newest first',
    ...onSchedule,
    query: z.object(page),
    status: 200,
    answer: z.object({ runs: z.array(ScheduleRunView), next_cursor: z.string().nullable() }),
  },
} as const
