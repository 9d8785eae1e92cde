/** The times of a schedule: pure functions of its timing. No time depends on when a run started or ended. */
import { createHash } from 'node:crypto'
import { type CronTimes, parseCron } from './cron.ts'
import type { ScheduleSpec, Timing } from './schedule.ts'
import { zoneOf } from './zone.ts'

/** The first time after an instant; null if there is none. */
export type NextScheduledTime = (after: number) => number | null

export function nextScheduledTimeOf(timing: Timing): NextScheduledTime {
  if (timing.kind === 'once') return after => (timing.at > after ? timing.at : null)
  if (timing.kind === 'interval') {
    const { anchor_at, interval_s } = timing
    const step = interval_s * 1000
    return after => anchor_at + Math.max(1, Math.floor((after - anchor_at) / step) + 1) * step
  }
  const times = timesOf(timing.cron)
  const zone = zoneOf(timing.timezone)
  return after => times.next(zone, after)
}

const parsed = new Map<string, CronTimes>()
const KEPT = 1000

/** The expression was validated when the schedule was created. */
function timesOf(cron: string): CronTimes {
  const known = parsed.get(cron)
  if (known !== undefined) return known
  const times = parseCron(cron)
  if ('problem' in times) throw new Error(`[schedule] ${times.problem}`)
  if (parsed.size >= KEPT) parsed.clear()
  parsed.set(cron, times)
  return times
}

/** The fixed shift of all times of a schedule, spread over the schedules. */
export const jitterOf = (id: string, { jitter_s }: Pick<ScheduleSpec, 'jitter_s'>): number =>
  (createHash('sha256').update(id).digest().readUInt32BE(0) % (jitter_s + 1)) * 1000

export type PassedTimes = {
  first: number
  last: number
  count: number
  /** How many of them are before `since`. */
  old: number
  /** The last one before `since`. */
  old_last: number
  /** The first one from `since` on. */
  new_first: number | null
  next: number | null
}

/** Further ones are counted by the next decision: a commit must not take seconds. */
export const MAX_TIMES = 10_000

/** The times from `first` up to `until`; null if none has passed. */
export function timesUntil(
  nextTime: NextScheduledTime,
  first: number,
  until: number,
  since: number,
): PassedTimes | null {
  if (first > until) return null
  const passed: PassedTimes = {
    first,
    last: first,
    count: 0,
    old: 0,
    old_last: first,
    new_first: null,
    next: null,
  }
  for (let slot: number | null = first; slot !== null; slot = nextTime(slot)) {
    if (slot > until || passed.count >= MAX_TIMES) {
      passed.next = slot
      break
    }
    passed.count += 1
    passed.last = slot
    if (slot < since) {
      passed.old += 1
      passed.old_last = slot
    } else passed.new_first ??= slot
  }
  return passed
}
