/**
 * Decisions about a schedule: when it is due, when run by hand, and when a run has ended. Pure: the time and
 * external state are arguments. Every scheduled time that passes while the schedule is active is a run, a row
 * of missed runs, or counted in one of the two.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  begin,
  type Circumstances,
  type Decision,
  type Draft,
  dropQueued,
  finish,
  isSpent,
  place,
  settle,
  skip,
  startRun,
} from './draft.ts'
import type { RunOutcome, RunRef, Schedule, ScheduleSpec, ScheduleState, Timing } from './schedule.ts'
import { jitterOf, MOST_SLOTS, nextSlotOf, type Passed, slotsUntil } from './slots.ts'

/** Decides the scheduled times up to now, by the clock of the store that found the schedule due. */
export function decideDue(schedule: Schedule, now: number, around: Circumstances): Decision {
  const draft = begin(schedule)
  if (isOver(draft)) return finish(draft)
  if (around.parent === 'archived') return cancel(draft, 'The session it belongs to was archived.')
  if (around.owner === 'disabled') return cancel(draft, 'Whoever made it may not sign in any more.')
  const { state } = draft
  const { expires_at } = schedule.spec
  const until = lastOwed(schedule.spec, now - jitterOf(schedule.id, schedule.spec))
  if (draft.status === 'active') takeDue(draft, until, around)
  const isBehind = draft.status === 'active' && state.slot_at !== null && state.slot_at <= until
  if (expires_at !== null && now >= expires_at && !isBehind) {
    draft.status = 'expired'
    state.slot_at = null
    dropQueued(draft, 'cancelled')
  }
  return finish(draft)
}

/** Times at or after the schedule's end do not count. */
const lastOwed = ({ expires_at }: ScheduleSpec, until: number): number =>
  expires_at === null ? until : Math.min(until, expires_at - 1)

/**
 * A run now, outside the schedule; null if one is running that is neither to be replaced nor waited for, or
 * if max_runs is reached.
 */
export function decideManual(schedule: Schedule, now: number): Decision | null {
  const draft = begin(schedule)
  const { overlap } = draft.schedule.spec
  const { running, queued } = draft.state
  if (isSpent(draft.schedule)) return null
  if (running !== null && (overlap === 'skip' || (overlap === 'queue' && queued !== null))) return null
  place(draft, { slot_at: now, manual: true }, 0, now)
  return finish(draft)
}

/** Decides the end of a run; a queued run starts. */
export function decideEnded(
  schedule: Schedule,
  ended: RunRef,
  outcome: RunOutcome,
  result: string,
  now: number,
): Decision {
  const draft = begin(schedule)
  settle(draft, ended, outcome, result, now)
  const { state } = draft
  const { queued } = state
  if (draft.status === 'paused') skipPassed(draft, now)
  if (queued !== null && !isSpent({ ...schedule, state })) {
    // A manual run does not belong to a scheduled time, so it runs even if the schedule is paused.
    if (draft.status === 'active' || (draft.status === 'paused' && queued.manual)) {
      state.queued = null
      startRun(draft, queued, 0)
    } else dropQueued(draft, draft.status === 'paused' ? 'paused' : 'cancelled')
  }
  return finish(draft)
}

export function decidePause(schedule: Schedule, reason: string, now: number): Decision {
  const draft = begin(schedule)
  skipPassed(draft, now)
  draft.status = 'paused'
  draft.state.reason = reason
  dropQueued(draft, 'paused')
  return finish(draft)
}

/** Times that passed while it was paused are not made up for: the next is the first from now on. */
export function decideResume(schedule: Schedule, now: number): Decision {
  const draft = begin(schedule)
  draft.status = 'active'
  Object.assign(draft.state, { failures: 0, backoff_until: 0, reason: null, last_skip: null })
  draft.state.slot_at = nextSlot(schedule.spec.timing, draft.state, now)
  return finish(draft)
}

/**
 * Changes the specification. With the same timing the next time stays; with another, times that have passed
 * are decided by the old one.
 */
export function decideChange(
  schedule: Schedule,
  spec: ScheduleSpec,
  now: number,
  parent: Circumstances['parent'],
): Decision {
  const draft = begin(schedule)
  const { state } = draft
  if (draft.status === 'active') {
    const isMoved = !isDeepStrictEqual(schedule.spec.timing, spec.timing)
    const until = lastOwed(schedule.spec, now)
    if (isMoved) while (state.slot_at !== null && state.slot_at <= until) takeDue(draft, until, { parent })
    if (isMoved || isSpent(schedule)) state.slot_at = nextSlot(spec.timing, state, now)
  }
  return finish({ ...draft, schedule: { ...schedule, spec } })
}

const nextSlot = (timing: Timing, { acted_at }: ScheduleState, now: number): number | null =>
  nextSlotOf(timing)(Math.max(now, acted_at ?? 0))

/** Times up to now cannot run any more: the schedule is paused. */
function skipPassed(draft: Draft, now: number): void {
  const { state } = draft
  const { spec } = draft.schedule
  while (state.slot_at !== null) {
    const passed = slotsUntil(nextSlotOf(spec.timing), state.slot_at, lastOwed(spec, now), 0)
    if (passed === null) return
    pass(state, passed)
    skip(draft, 'paused', passed.first, passed.last, passed.count)
  }
}

function pass(state: ScheduleState, { next, last, count }: Passed): void {
  state.slot_at = next
  state.acted_at = last
  state.slot_count += count
}

/** A running run continues and reports. */
export const decideCancel = (schedule: Schedule, reason: string): Decision => cancel(begin(schedule), reason)

function cancel(draft: Draft, reason: string): Decision {
  draft.status = 'cancelled'
  draft.state.reason = reason
  draft.state.slot_at = null
  dropQueued(draft, 'cancelled')
  return finish(draft)
}

const isOver = ({ status }: Pick<Draft, 'status'>): boolean =>
  status === 'completed' || status === 'expired' || status === 'cancelled'

function takeDue(draft: Draft, until: number, around: Pick<Circumstances, 'parent'>): void {
  const { schedule, state } = draft
  const { timing, missed, catch_up_s, late_s } = schedule.spec
  if (state.slot_at === null) return
  const since = until - catch_up_s * 1000
  const passed = slotsUntil(nextSlotOf(timing), state.slot_at, until, since)
  if (passed === null) return
  pass(state, passed)
  const { first, last, count, old, old_last, new_first } = passed
  // More times passed than one decision counts, and the last one counted is long past.
  const isCut = count === MOST_SLOTS && passed.next !== null && passed.next <= until
  if (isCut) return skip(draft, 'missed', first, last, count)
  if (old > 0) skip(draft, 'missed', first, old_last, old)
  if (new_first === null) return tellMissed(draft)
  const isLate = until - last > late_s * 1000
  if (missed === 'skip' && isLate) {
    skip(draft, 'missed', new_first, last, count - old)
    return tellMissed(draft)
  }
  if (missed === 'skip' && count - old > 1) {
    skip(draft, 'missed', new_first, last, count - old - 1)
    takeSlot(draft, last, 0, until, around)
  } else takeSlot(draft, last, count - old - 1, until, around)
}

const tellMissed = (draft: Draft): void => {
  if (draft.schedule.spec.timing.kind === 'once') draft.tell = 'missed'
}

/** One scheduled time, which may start a run; it stands for `collapsed` others. */
function takeSlot(
  draft: Draft,
  slot: number,
  collapsed: number,
  now: number,
  { parent }: Pick<Circumstances, 'parent'>,
): void {
  const { state } = draft
  if (parent === 'paused') return skip(draft, 'paused', slot, slot, collapsed + 1)
  if (slot < state.backoff_until) return skip(draft, 'backoff', slot, slot, collapsed + 1)
  place(draft, { slot_at: slot, manual: false }, collapsed, now)
}
