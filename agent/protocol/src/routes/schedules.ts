/** Schedules over the API: their views and their routes. */
import { z } from 'zod'
import { RUN_OUTCOMES } from '../events/index.ts'
import { list, page } from './fields.ts'
import type { Route } from './route.ts'

const timestamp = z.string()
const count = z.int().nonnegative()

/** Input keys of a schedule. Rules between keys are checked when the schedule is created. */
const wish = {
  prompt: z
    .string()
    .regex(/[^\s\u200b-\u200d\u2060]/, 'must not be blank')
    .max(20_000)
    .describe('the message that each run receives'),
  name: z.string().trim().min(1).max(120).optional(),
  cron: z.string().max(200).optional().describe('five fields, or @hourly to @yearly'),
  every_s: z.int().optional().describe('seconds between runs, at least 60'),
  at: z.string().max(40).optional().describe('time of a single run, RFC 3339'),
  timezone: z.string().max(64).optional().describe('time zone of cron, such as Europe/Berlin'),
  missed: z
    .enum(['once', 'skip'])
    .optional()
    .describe('what to do about missed runs: start one run for all of them, or none'),
  catch_up_s: z.int().min(0).max(2_592_000).optional().describe('max age of a missed run that is caught up'),
  overlap: z
    .enum(['skip', 'queue', 'replace'])
    .optional()
    .describe(
      'what to do if the previous run is still running: skip the run, queue it, or replace the previous one',
    ),
  jitter_s: z
    .int()
    .min(0)
    .max(3600)
    .optional()
    .describe('max shift of its times; each schedule has a fixed shift'),
  max_runs: z.int().positive().optional(),
  expires_at: z.string().max(40).optional().describe('RFC 3339'),
  on_result: z
    .enum(['note', 'wake'])
    .optional()
    .describe('note: the session reads the result in its next turn; wake: the result wakes the session'),
}
const NewSchedule = z.strictObject({ session_id: z.string(), ...wish })
export type ScheduleInput = Omit<z.infer<typeof NewSchedule>, 'session_id'>
export type ScheduleChangeInput = { [K in keyof ScheduleInput]?: ScheduleInput[K] | undefined }

const ScheduleView = z
  .object({
    id: z.string(),
    session_id: z.string().describe('the session that receives its results'),
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
    reason: z.string().nullable().describe('why it is paused or ended'),
    next: z.array(timestamp).describe('times of the next runs, at most five'),
    run_count: count.describe('runs that started'),
    slot_count: count.describe('scheduled times that passed while it was active'),
    skipped_count: count.describe('scheduled times without a run'),
    failures: count.describe('consecutive failures'),
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
    collapsed: count.describe('further scheduled times that this run covers'),
    manual: z.boolean(),
    run_session_id: z.string().nullable(),
    created_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'ScheduleRun' })
export type ScheduleRunView = z.infer<typeof ScheduleRunView>

const NextTime = z.object({
  at: timestamp,
  local: z.string().describe('the time in that time zone'),
  note: z.string().nullable().describe('why the time differs, or occurs twice, on that day'),
})
export type NextTime = z.infer<typeof NextTime>

const statuses = list(['active', 'paused', 'completed', 'expired', 'cancelled'])
const onSchedule = { access: 'any', alias: true } as const

export const SCHEDULE_ROUTES = {
  createSchedule: {
    method: 'POST',
    path: '/schedules',
    errors: ['not_found', 'wrong_state', 'limit_reached', 'invalid_schedule'],
    summary: 'Create a schedule, which runs the agent of a session at times',
    ...onSchedule,
    creates: true,
    body: NewSchedule,
    status: 201,
    answer: ScheduleView,
  },
  listSchedules: {
    method: 'GET',
    path: '/schedules',
    summary: 'List schedules, newest first',
    ...onSchedule,
    query: z.object({ ...page, status: statuses.optional(), session_id: z.string().optional() }),
    status: 200,
    answer: z.object({ schedules: z.array(ScheduleView), next_cursor: z.string().nullable() }),
  },
  previewSchedule: {
    method: 'POST',
    path: '/schedules/preview',
    errors: ['invalid_schedule'],
    summary: 'Preview the next times of an expression, with notes on clock changes',
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
    summary: 'Get a schedule',
    ...onSchedule,
    status: 200,
    answer: ScheduleView,
  },
  changeSchedule: {
    method: 'PATCH',
    path: '/schedules/{schedule_id}',
    summary: 'Change a schedule that has not ended; the next time is computed from now',
    ...onSchedule,
    body: z.strictObject({ ...wish, prompt: wish.prompt.optional() }),
    status: 200,
    answer: ScheduleView,
  },
  cancelSchedule: {
    method: 'DELETE',
    path: '/schedules/{schedule_id}',
    summary: 'Cancel a schedule; a running run continues and reports its result',
    ...onSchedule,
    status: 204,
  },
  pauseSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/pause',
    summary: 'Pause a schedule; times that pass while it is paused are not caught up',
    ...onSchedule,
    status: 200,
    answer: ScheduleView,
  },
  resumeSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/resume',
    summary: 'Resume a paused schedule from now on',
    ...onSchedule,
    status: 200,
    answer: ScheduleView,
  },
  runSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/run',
    summary: 'Start a run now, in addition to the schedule',
    ...onSchedule,
    creates: true,
    status: 202,
    answer: ScheduleView,
  },
  listScheduleRuns: {
    method: 'GET',
    path: '/schedules/{schedule_id}/runs',
    summary: 'List the runs of a schedule, including missed and skipped ones, newest first',
    ...onSchedule,
    query: z.object(page),
    status: 200,
    answer: z.object({ runs: z.array(ScheduleRunView), next_cursor: z.string().nullable() }),
  },
} as const satisfies Record<string, Route>
