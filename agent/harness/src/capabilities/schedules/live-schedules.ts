/** The active schedules of a session, for its agent and its commands. */
import type { LogStore, SessionRow, StoreSchedule } from '@cairn/log'
import { formatInZone, formatLeft, type ScheduleView } from '@cairn/protocol'

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

/** The times of a schedule, in words and Markdown. */
export const whenOf = ({
  cron,
  every_s,
  timezone,
}: Pick<ScheduleView, 'cron' | 'every_s' | 'timezone'>): string =>
  cron !== null ? `at \`${cron}\` (${timezone})` : every_s !== null ? `every ${everyOf(every_s)}` : 'once'

/**
 * "in 29 min". The service does not know the reader's time zone, so only a schedule with a zone of its own
 * gets a clock time: "in 12 h, 30 Nov, 09:00 Europe/Berlin".
 */
export const timeAhead = (
  at: number,
  now: number,
  { cron, timezone }: Pick<ScheduleView, 'cron' | 'timezone'>,
): string =>
  `in ${formatLeft(at - now)}${cron === null ? '' : `, ${formatInZone(at, now, timezone)} ${timezone}`}`

const everyOf = (seconds: number): string =>
  seconds % 86_400 === 0
    ? `${seconds / 86_400} d`
    : seconds % 3600 === 0
      ? `${seconds / 3600} h`
      : seconds % 60 === 0
        ? `${seconds / 60} min`
        : `${seconds} s`
