/** Schedules: create, list, change, and run now. */
import {
  cancelSchedule as cancel,
  changeSchedule as change,
  createSchedule as create,
  findSchedule,
  pauseSchedule as pause,
  preview,
  resumeSchedule as resume,
  runSchedule as runNow,
  timingOf,
  viewRun,
  viewSchedule,
  visibleTo,
} from '@cairn/sessions'
import type { Handler } from '../handler.ts'
import { configOf } from '../settings.ts'
import { pageLimit } from './page-limit.ts'

export const createSchedule: Handler<'createSchedule'> = async ({ services, principal, body }) => {
  const { session_id, ...wish } = body
  return viewSchedule(
    await create(services, (await configOf(services, principal)).config, principal, session_id, wish),
  )
}

export const listSchedules: Handler<'listSchedules'> = async ({ services, principal, query }) => {
  const { schedules, next_cursor } = await services.store.schedules.list({
    ...visibleTo(principal),
    limit: pageLimit(query.limit),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.session_id === undefined ? {} : { session_id: query.session_id }),
  })
  return { schedules: schedules.map(viewSchedule), next_cursor }
}

export const previewSchedule: Handler<'previewSchedule'> = ({ services, body }) => {
  const { count, ...wish } = body
  const now = services.now()
  const timing = timingOf(wish, services.config.schedules.timezone, now)
  const timezone = timing.kind === 'cron' ? timing.timezone : 'UTC'
  return Promise.resolve({ timezone, next: preview(timing, now, count) })
}

export const getSchedule: Handler<'getSchedule'> = async ({ services, principal, params }) =>
  viewSchedule(await findSchedule(services, principal, params.schedule_id))

export const changeSchedule: Handler<'changeSchedule'> = async ({ services, principal, params, body }) => {
  const { id } = await findSchedule(services, principal, params.schedule_id)
  return viewSchedule(await change(services, (await configOf(services, principal)).config, id, body))
}

export const cancelSchedule: Handler<'cancelSchedule'> = async ({ services, principal, params }) => {
  const { id } = await findSchedule(services, principal, params.schedule_id)
  await cancel(services, id)
  return undefined
}

export const pauseSchedule: Handler<'pauseSchedule'> = async ({ services, principal, params }) => {
  const { id } = await findSchedule(services, principal, params.schedule_id)
  return viewSchedule(await pause(services, id))
}

export const resumeSchedule: Handler<'resumeSchedule'> = async ({ services, principal, params }) => {
  const { id } = await findSchedule(services, principal, params.schedule_id)
  return viewSchedule(await resume(services, id))
}

export const runSchedule: Handler<'runSchedule'> = async ({ services, principal, params }) => {
  const { id } = await findSchedule(services, principal, params.schedule_id)
  return viewSchedule(await runNow(services, id))
}

export const listScheduleRuns: Handler<'listScheduleRuns'> = async ({
  services,
  principal,
  params,
  query,
}) => {
  const { id } = await findSchedule(services, principal, params.schedule_id)
  const { runs, next_cursor } = await services.store.schedules.runs(id, {
    limit: pageLimit(query.limit),
    ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
  })
  return { runs: runs.map(viewRun), next_cursor }
}
