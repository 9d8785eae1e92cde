/**
 * The steps of a decision about a schedule (decide.ts): the effects of one scheduled time, one run, one end.
 */
import type { RunOutcome, RunRef, RunRow, Schedule, ScheduleState, SkipReason } from './schedule.ts'
import { jitterOf } from './scheduled-times.ts'

/** External state at that moment. */
export type ScheduleContext = {
  /** State of the session that the schedule belongs to. */
  parent: 'open' | 'paused' | 'archived'
  owner: 'enabled' | 'disabled'
}

export type Decision = {
  status: Schedule['status']
  state: ScheduleState
  /** When to decide again; null for never. */
  due_at: number | null
  rows: RunRow[]
  /** The run to start. */
  start: RunRef | null
  /** The running run to stop, because another one replaces it. */
  stop: RunRef | null
  /** Creates an inbox item for a person. */
  notify: 'missed' | 'failures' | null
}

const BACKOFF_MS = 60_000
const MAX_BACKOFF_MS = 6 * 3_600_000

/** A decision in progress: rows and state accumulate. */
export type PendingDecision = Decision & { schedule: Schedule }

export const beginDecision = (schedule: Schedule): PendingDecision => ({
  schedule,
  status: schedule.status,
  state: { ...schedule.state },
  due_at: null,
  rows: [],
  start: null,
  stop: null,
  notify: null,
})

/** Applies the overlap policy to a run that is about to start. */
export function placeRun(pending: PendingDecision, run: RunRef, collapsed: number, now: number): void {
  const { schedule, state } = pending
  const { running, queued } = state
  if (running === null) return startRun(pending, run, collapsed)
  const { overlap } = schedule.spec
  if (overlap === 'replace') {
    settleRun(pending, running, 'cancelled', '', now)
    pending.stop = running
    return startRun(pending, run, collapsed)
  }
  if (overlap === 'queue' && queued === null) {
    state.queued = run
    state.last_skip = null
    if (!run.manual) state.skipped_count += collapsed
    pending.rows.push(row(run, 'queued', null, collapsed))
    return
  }
  skipRuns(pending, 'overlap', run.slot_at, run.slot_at, collapsed + 1)
}

const row = (
  { slot_at, manual }: RunRef,
  status: RunRow['status'],
  reason: RunRow['reason'],
  collapsed: number,
): RunRow => ({ slot_at, last_slot_at: slot_at, status, reason, collapsed, manual })

export function startRun(pending: PendingDecision, run: RunRef, collapsed: number): void {
  const { state } = pending
  state.running = run
  state.run_count += 1
  state.last_skip = null
  if (!run.manual) state.skipped_count += collapsed
  pending.rows.push(row(run, 'running', null, collapsed))
  pending.start = run
}

/** Scheduled times without a run. Consecutive ones with the same reason share one row. */
export function skipRuns(
  pending: PendingDecision,
  reason: SkipReason,
  first: number,
  last: number,
  count: number,
): void {
  const { state, rows } = pending
  state.skipped_count += count
  const before = state.last_skip?.reason === reason ? state.last_skip : null
  const at = before?.slot_at ?? first
  const collapsed = before === null ? count - 1 : before.collapsed + count
  state.last_skip = { slot_at: at, reason, collapsed }
  const same = rows.findIndex(each => each.slot_at === at)
  const skipped: RunRow = {
    slot_at: at,
    last_slot_at: last,
    status: 'skipped',
    reason,
    collapsed,
    manual: false,
  }
  if (same === -1) rows.push(skipped)
  else rows[same] = skipped
}

export function dropQueued(pending: Pick<PendingDecision, 'state' | 'rows'>, reason: SkipReason): void {
  const { state } = pending
  const { queued } = state
  if (queued === null) return
  state.queued = null
  if (!queued.manual) state.skipped_count += 1
  pending.rows.push(row(queued, 'skipped', reason, 0))
}

export function settleRun(
  pending: PendingDecision,
  run: RunRef,
  outcome: RunOutcome,
  result: string,
  now: number,
): void {
  const { state, schedule } = pending
  state.running = null
  pending.rows.push(row(run, outcome === 'success' ? 'success' : 'failed', outcome, 0))
  // A cancelled run says nothing about the success of the next one.
  if (outcome === 'cancelled') return
  if (result !== '') state.last_result = result
  if (outcome === 'success') {
    Object.assign(state, { failures: 0, backoff_until: 0 })
    return
  }
  state.failures += 1
  state.backoff_until = now + Math.min(BACKOFF_MS * 2 ** (state.failures - 1), MAX_BACKOFF_MS)
  if (state.failures < schedule.spec.max_failures || pending.status !== 'active') return
  pending.status = 'paused'
  state.reason = `${state.failures} runs failed in a row.`
  pending.notify = 'failures'
}

/** True if max_runs is reached: no time, no person and no queue starts another run. */
export const isSpent = ({ spec, state }: Pick<Schedule, 'spec' | 'state'>): boolean =>
  spec.max_runs !== null && state.run_count >= spec.max_runs

/** Sets the next due time. A schedule without one is over once none of its runs is active. */
export function finishDecision({ schedule, ...draft }: PendingDecision): Decision {
  const { state } = draft
  const { expires_at } = schedule.spec
  if (isSpent({ spec: schedule.spec, state })) {
    state.slot_at = null
    dropQueued(draft, 'cancelled')
  }
  if (draft.status === 'active' && state.slot_at === null && state.running === null && state.queued === null)
    draft.status = 'completed'
  if (draft.status !== 'active' && draft.status !== 'paused') return draft
  const next =
    draft.status === 'active' && state.slot_at !== null
      ? state.slot_at + jitterOf(schedule.id, schedule.spec)
      : null
  const due = [next, expires_at].filter(at => at !== null)
  return { ...draft, due_at: due.length === 0 ? null : Math.min(...due) }
}
