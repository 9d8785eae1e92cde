/** The active schedules of a session, for its agent and its commands. */
import type { LogStore, SessionRow, StoreSchedule } from '@cairn/log'
import type { ScheduleView } from '@cairn/protocol'

const MAX_SCHEDULES = 100

export const liveSchedules = async (
  store: LogStore,
  { id, org_id }: Pick<SessionRow, 'id' | 'org_id'>,
): Promise<StoreSchedule[]> =>
  (
    await store.schedules.list({
      org_id,
      session_id: id,
      status: ['active', 'paused'],
      limit: MAX_SCHEDULES,
    })
  ).schedules

/** The times of a schedule, in words. */
export const whenOf = ({
  cron,
  every_s,
  at,
  timezone,
}: Pick<ScheduleView, 'cron' | 'every_s' | 'at' | 'timezone'>): string =>
  cron !== null ? `at "${cron}" (${timezone})` : every_s !== null ? `every ${everyOf(every_s)}` : `at ${at}`

const everyOf = (seconds: number): string =>
  seconds % 86_400 === 0
    ? `${seconds / 86_400} d`
    : seconds % 3600 === 0
      ? `${seconds / 3600} h`
      : seconds % 60 === 0
        ? `${seconds / 60} min`
        : `${seconds} s`
