/** The specification and state of a schedule. The store keeps both as JSON and reads neither. */
import type { SessionBudget } from '@cairn/protocol'

/** When the schedule runs. Times are epoch milliseconds. */
export type Timing =
  | { kind: 'cron'; cron: string; timezone: string }
  | { kind: 'interval'; interval_s: number; anchor_at: number }
  | { kind: 'once'; at: number }

export type ScheduleSpec = {
  name: string | null
  prompt: string
  timing: Timing
  /** What happens to times at which no runner was available. */
  missed: 'once' | 'skip'
  /** Times older than this are not made up for. */
  catch_up_s: number
  /** What happens to a time while a run is active. */
  overlap: 'skip' | 'queue' | 'replace'
  jitter_s: number
  max_runs: number | null
  expires_at: number | null
  on_result: 'note' | 'wake'
  /** Tolerance in seconds within which a run counts as on time. */
  late_s: number
  /** Consecutive failures that pause the schedule. */
  max_failures: number
  /** The configuration of runs; `keep_s`: seconds after its end at which the session of a run is archived. */
  run: { agent: string; model?: string; max_iterations: number; budget?: SessionBudget; keep_s: number }
}

export type SkipReason = 'missed' | 'overlap' | 'backoff' | 'paused' | 'cancelled'
export type RunRef = { slot_at: number; manual: boolean }

export const LAST_RESULT_CHARS = 2000

export type ScheduleState = {
  /** The next time that has not been decided yet; null if there is none. */
  slot_at: number | null
  /** The last time that was decided: the next one is later, whatever a clock says. */
  acted_at: number | null
  /** Started runs, manual ones included. */
  run_count: number
  /** Times that passed while the schedule was active, and those among them without a run. */
  slot_count: number
  skipped_count: number
  /** Consecutive failures. */
  failures: number
  /** Times before it are skipped. */
  backoff_until: number
  running: RunRef | null
  /** At most one run waits for the running one to end. */
  queued: RunRef | null
  /** The last row, if it records missed runs: more of them for the same reason are merged into it. */
  last_skip: { slot_at: number; reason: SkipReason; collapsed: number } | null
  /** The result that the next run and people see: at most LAST_RESULT_CHARS. */
  last_result: string | null
  /** Why it is paused or over, for people. */
  reason: string | null
}

export const newState = (slotAt: number | null): ScheduleState => ({
  slot_at: slotAt,
  acted_at: null,
  run_count: 0,
  slot_count: 0,
  skipped_count: 0,
  failures: 0,
  backoff_until: 0,
  running: null,
  queued: null,
  last_skip: null,
  last_result: null,
  reason: null,
})

type ScheduleStatus = 'active' | 'paused' | 'completed' | 'expired' | 'cancelled'
/** The input of decisions. */
export type Schedule = { id: string; status: ScheduleStatus; spec: ScheduleSpec; state: ScheduleState }

/** How a run ended. */
export type RunOutcome =
  'success' | 'failed' | 'empty' | 'budget_exhausted' | 'tool_loop' | 'timeout' | 'cancelled'

/** A row of the schedule's runs after a decision. */
export type RunRow = {
  slot_at: number
  last_slot_at: number
  status: 'queued' | 'running' | 'success' | 'failed' | 'skipped'
  reason: SkipReason | RunOutcome | null
  /** Further times that the row stands for. */
  collapsed: number
  manual: boolean
}
