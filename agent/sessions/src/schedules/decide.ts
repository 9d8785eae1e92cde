/**
 * Decisions about a schedule: when it is due, when run by hand, and when a run has ended. Pure: the time and
 * external state are arguments. Every scheduled time that passes while the schedule is active is a run, a row
 * of missed runs, or counted in one of the two.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  beginDecision,
  type ScheduleContext,
  type Decision,
  type PendingDecision,
  dropQueued,
  finishDecision,
  isSpent,
  placeRun,
  settleRun,
  skipRuns,
  startRun,
} from './pending-decision.ts'
import type { RunOutcome, RunRef, Schedule, ScheduleSpec, ScheduleState, Timing } from './schedule.ts'
import { jitterOf, MAX_TIMES, nextScheduledTimeOf, type PassedTimes, timesUntil } from './scheduled-times.ts'

/** Decides the scheduled times up to now, by the clock of the store that found the schedule due. */
export function decideDue(schedule: Schedule, now: number, context: ScheduleContext): Decision {
  const pending = beginDecision(schedule)
  if (isOver(pending)) return finishDecision(pending)
  if (context.parent === 'archived') return cancel(pending, 'The session of this schedule was archived.')
  if (context.owner === 'disabled')
    return cancel(pending, 'The user who created this schedule can no longer log in.')
  const { state } = pending
  const { expires_at } = schedule.spec
  const until = lastOwed(schedule.spec, now - jitterOf(schedule.id, schedule.spec))
  if (pending.status === 'active') takeDue(pending, until, context)
  const isBehind = pending.status === 'active' && state.slot_at !== null && state.slot_at <= until
  if (expires_at !== null && now >= expires_at && !isBehind) {
    pending.status = 'expired'
    state.slot_at = null
    dropQueued(pending, 'cancelled')
  }
  return finishDecision(pending)
}

/** Times at or after the schedule's end do not count. */
const lastOwed = ({ expires_at }: ScheduleSpec, until: number): number =>
  expires_at === null ? until : Math.min(until, expires_at - 1)

/**
 * A run now, outside the schedule; null if one is running that is neither to be replaced nor waited for, or
 * if max_runs is reached.
 */
export function decideManual(schedule: Schedule, now: number): Decision | null {
  const pending = beginDecision(schedule)
  const { overlap } = pending.schedule.spec
  const { running, queued } = pending.state
  if (isSpent(pending.schedule)) return null
  if (running !== null && (overlap === 'skip' || (overlap === 'queue' && queued !== null))) return null
  placeRun(pending, { slot_at: now, manual: true }, 0, now)
  return finishDecision(pending)
}

/** Decides the end of a run; a queued run starts. */
export function decideEnded(
  schedule: Schedule,
  ended: RunRef,
  outcome: RunOutcome,
  result: string,
  now: number,
): Decision {
  const pending = beginDecision(schedule)
  settleRun(pending, ended, outcome, result, now)
  const { state } = pending
  const { queued } = state
  if (pending.status === 'paused') skipPassed(pending, now)
  if (queued !== null && !isSpent({ ...schedule, state })) {
    // A manual run does not belong to a scheduled time, so it runs even if the schedule is paused.
    if (pending.status === 'active' || (pending.status === 'paused' && queued.manual)) {
      state.queued = null
      startRun(pending, queued, 0)
    } else dropQueued(pending, pending.status === 'paused' ? 'paused' : 'cancelled')
  }
  return finishDecision(pending)
}

export function decidePause(schedule: Schedule, reason: string, now: number): Decision {
  const pending = beginDecision(schedule)
  skipPassed(pending, now)
  pending.status = 'paused'
  pending.state.reason = reason
  dropQueued(pending, 'paused')
  return finishDecision(pending)
}

/** Times that passed while it was paused are not made up for: the next is the first from now on. */
export function decideResume(schedule: Schedule, now: number): Decision {
  const pending = beginDecision(schedule)
  pending.status = 'active'
  Object.assign(pending.state, { failures: 0, backoff_until: 0, reason: null, last_skip: null })
  pending.state.slot_at = nextTime(schedule.spec.timing, pending.state, now)
  return finishDecision(pending)
}

/**
 * Changes the specification. With the same timing the next time stays; with another, times that have passed
 * are decided by the old one.
 */
export function decideChange(
  schedule: Schedule,
  spec: ScheduleSpec,
  now: number,
  parent: ScheduleContext['parent'],
): Decision {
  const pending = beginDecision(schedule)
  const { state } = pending
  if (pending.status === 'active') {
    const isMoved = !isDeepStrictEqual(schedule.spec.timing, spec.timing)
    const until = lastOwed(schedule.spec, now)
    if (isMoved) while (state.slot_at !== null && state.slot_at <= until) takeDue(pending, until, { parent })
    if (isMoved || isSpent(schedule)) state.slot_at = nextTime(spec.timing, state, now)
  }
  return finishDecision({ ...pending, schedule: { ...schedule, spec } })
}

const nextTime = (timing: Timing, { acted_at }: ScheduleState, now: number): number | null =>
  nextScheduledTimeOf(timing)(Math.max(now, acted_at ?? 0))

/** Times up to now cannot run any more: the schedule is paused. */
function skipPassed(pending: PendingDecision, now: number): void {
  const { state } = pending
  const { spec } = pending.schedule
  while (state.slot_at !== null) {
    const passed = timesUntil(nextScheduledTimeOf(spec.timing), state.slot_at, lastOwed(spec, now), 0)
    if (passed === null) return
    pass(state, passed)
    skipRuns(pending, 'paused', passed.first, passed.last, passed.count)
  }
}

function pass(state: ScheduleState, { next, last, count }: PassedTimes): void {
  state.slot_at = next
  state.acted_at = last
  state.slot_count += count
}

/** A running run continues and reports. */
export const decideCancel = (schedule: Schedule, reason: string): Decision =>
  cancel(beginDecision(schedule), reason)

function cancel(pending: PendingDecision, reason: string): Decision {
  pending.status = 'cancelled'
  pending.state.reason = reason
  pending.state.slot_at = null
  dropQueued(pending, 'cancelled')
  return finishDecision(pending)
}

const isOver = ({ status }: Pick<PendingDecision, 'status'>): boolean =>
  status === 'completed' || status === 'expired' || status === 'cancelled'

function takeDue(pending: PendingDecision, until: number, context: Pick<ScheduleContext, 'parent'>): void {
  const { schedule, state } = pending
  const { timing, missed, catch_up_s, late_s } = schedule.spec
  if (state.slot_at === null) return
  const since = until - catch_up_s * 1000
  const passed = timesUntil(nextScheduledTimeOf(timing), state.slot_at, until, since)
  if (passed === null) return
  pass(state, passed)
  const { first, last, count, old, old_last, new_first } = passed
  // More times passed than one decision counts, and the last one counted is long past.
  const isCut = count === MAX_TIMES && passed.next !== null && passed.next <= until
  if (isCut) return skipRuns(pending, 'missed', first, last, count)
  if (old > 0) skipRuns(pending, 'missed', first, old_last, old)
  if (new_first === null) return notifyMissed(pending)
  const isLate = until - last > late_s * 1000
  if (missed === 'skip' && isLate) {
    skipRuns(pending, 'missed', new_first, last, count - old)
    return notifyMissed(pending)
  }
  if (missed === 'skip' && count - old > 1) {
    skipRuns(pending, 'missed', new_first, last, count - old - 1)
    takeSlot(pending, last, 0, until, context)
  } else takeSlot(pending, last, count - old - 1, until, context)
}

const notifyMissed = (pending: PendingDecision): void => {
  if (pending.schedule.spec.timing.kind === 'once') pending.notify = 'missed'
}

/** One scheduled time, which may start a run; it stands for `collapsed` others. */
function takeSlot(
  pending: PendingDecision,
  slot: number,
  collapsed: number,
  now: number,
  { parent }: Pick<ScheduleContext, 'parent'>,
): void {
  const { state } = pending
  if (parent === 'paused') return skipRuns(pending, 'paused', slot, slot, collapsed + 1)
  if (slot < state.backoff_until) return skipRuns(pending, 'backoff', slot, slot, collapsed + 1)
  placeRun(pending, { slot_at: slot, manual: false }, collapsed, now)
}
