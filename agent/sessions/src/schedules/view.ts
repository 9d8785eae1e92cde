/** Schedules as the API shows them, and previews of their times. */
import type { ScheduleRun, StoreSchedule } from '@cairn/log'
import type { NextTime, ScheduleRunView, ScheduleView } from '@cairn/protocol'
import { jitterOf, nextScheduledTimeOf } from './scheduled-times.ts'
import type { Timing } from './schedule.ts'
import { runId, scheduleOf } from './schedule-rows.ts'
import { instantOf, zoneOf } from './zone.ts'

const iso = (at: number): string => new Date(at).toISOString()
const NEXT = 5

export function viewSchedule(row: StoreSchedule): ScheduleView {
  const { id, session_id, status } = row
  const { spec, state } = scheduleOf(row)
  const { timing, jitter_s: _, run: __, late_s: ___, max_failures: ____, ...shown } = spec
  return {
    id,
    session_id,
    ...shown,
    jitter_s: spec.jitter_s,
    ...shownTiming(timing),
    expires_at: spec.expires_at === null ? null : iso(spec.expires_at),
    status,
    reason: state.reason,
    next: status === 'active' ? nextOf(row) : [],
    run_count: state.run_count,
    slot_count: state.slot_count,
    skipped_count: state.skipped_count,
    failures: state.failures,
    running_session_id: state.running === null ? null : runId(id, state.running),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}

export const shownTiming = (
  timing: Timing,
): Pick<ScheduleView, 'kind' | 'cron' | 'every_s' | 'at' | 'timezone'> => ({
  kind: timing.kind,
  cron: timing.kind === 'cron' ? timing.cron : null,
  every_s: timing.kind === 'interval' ? timing.interval_s : null,
  at: timing.kind === 'once' ? iso(timing.at) : null,
  timezone: timing.kind === 'cron' ? timing.timezone : 'UTC',
})

function nextOf(row: StoreSchedule): string[] {
  const { id, spec, state } = scheduleOf(row)
  const next = nextScheduledTimeOf(spec.timing)
  const found: string[] = []
  const left = spec.max_runs === null ? NEXT : spec.max_runs - state.run_count
  for (let at = state.slot_at; at !== null && found.length < Math.min(NEXT, left); at = next(at)) {
    if (spec.expires_at !== null && at >= spec.expires_at) break
    found.push(iso(at + jitterOf(id, spec)))
  }
  return found
}

export const viewRun = (run: ScheduleRun): ScheduleRunView => ({
  slot_at: iso(run.slot_at),
  last_slot_at: iso(run.last_slot_at),
  status: run.status,
  reason: run.reason as ScheduleRunView['reason'],
  collapsed: run.collapsed,
  manual: run.manual,
  run_session_id: run.run_session_id,
  created_at: iso(run.created_at),
  ended_at: run.ended_at === null ? null : iso(run.ended_at),
})

/** The next times of a timing, with notes about clock changes. */
export function preview(timing: Timing, now: number, count: number): NextTime[] {
  const next = nextScheduledTimeOf(timing)
  const zone = timing.kind === 'cron' ? timing.timezone : 'UTC'
  const found: NextTime[] = []
  for (let at = next(now); at !== null && found.length < count; at = next(at))
    found.push({
      at: iso(at),
      local: localOf(zone, at),
      note: timing.kind === 'cron' ? noteOf(zone, at) : null,
    })
  return found
}

const localOf = (zone: string, at: number): string =>
  iso(at + zoneOf(zone).offsetAt(at))
    .slice(0, 16)
    .replace('T', ' ')

const HOUR_MS = 3_600_000

/** A note about a clock change at or around that time. */
function noteOf(name: string, at: number): string | null {
  const zone = zoneOf(name)
  if (zone.changeIn(at - 1, at) !== null && zone.offsetAt(at) > zone.offsetAt(at - 1))
    return 'clocks go forward here: the skipped times run at this time'
  const wall = at + zone.offsetAt(at)
  const { again, instant } = instantOf(zone, wall)
  if (again === null) return null
  return instant === at
    ? `clocks go back here: this local time occurs again ${(again - at) / HOUR_MS} h later`
    : 'clocks went back: this is the second occurrence of this local time'
}
