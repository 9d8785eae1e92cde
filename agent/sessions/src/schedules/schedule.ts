/** What a schedule is, and where it stands; the store keeps both as JSON and looks at neither. */
import type { SessionBudget } from '@cairn/protocol'

/** When its slots are. Times are epoch milliseconds. */
export type Timing =
  | { kind: 'cron'; cron: string; timezone: string }
  | { kind: 'interval'; interval_s: number; anchor_at: number }
  | { kind: 'once'; at: number }

export type ScheduleSpec = {
  name: string | null
  prompt: string
  timing: Timing
  /** What happens to slots that nobody could act on in time. */
  missed: 'once' | 'skip'
  /** Older slots are never made up for. */
  catch_up_s: number
  /** A slot while a run is under way. */
  overlap: 'skip' | 'queue' | 'replace'
  jitter_s: number
  max_runs: number | null
  expires_at: number | null
  on_result: 'note' | 'wake'
  /** So late a slot is still on time. */
  late_s: number
  /** So many failures in a row pause it. */
  max_failures: number
  /** What its runs are made with; `keep_s`: so long after its end the session of one is archived. */
  run: { agent: string; model?: string; max_iterations: number; budget?: SessionBudget; keep_s: number }
}

export type SkipReason = 'missed' | 'overlap' | 'backoff' | 'paused' | 'cancelled'
export type RunRef = { slot_at: number; manual: boolean }

export const LAST_RESULT_CHARS = 2000

export type ScheduleState = {
  /** The next slot that was not acted on yet; null: there is none any more. */
  slot_at: number | null
  /** The last slot that was acted on: the next lies behind it, whatever a clock says. */
  acted_at: number | null
  /** Runs that began, those by hand too. */
  run_count: number
  /** Slots that passed while it was active, and those of them that no run began for. */
  slot_count: number
  skipped_count: number
  /** In a row. */
  failures: number
  /** Slots before it are skipped. */
  backoff_until: number
  running: RunRef | null
  /** At most one waits for the running one to end. */
  queued: RunRef | null
  /** The last row, if it is one of slots that were skipped: more of them for the same reason join it. */
  last_skip: { slot_at: number; reason: SkipReason; collapsed: number } | null
  /** What the next run and people are told of it: at most LAST_RESULT_CHARS. */
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
/** As decisions see it. */
export type Schedule = { id: string; status: ScheduleStatus; spec: ScheduleSpec; state: ScheduleState }

/** How a run ended. */
export type RunOutcome =
  'success' | 'failed' | 'empty' | 'budget_exhausted' | 'tool_loop' | 'timeout' | 'cancelled'

/** A row of its runs as a decision leaves it. */
export type RunRow = {
  slot_at: number
  last_slot_at: number
  status: 'queued' | 'running' | 'success' | 'failed' | 'skipped'
  reason: SkipReason | RunOutcome | null
  /** Slots beside the first that the row stands for. */
  collapsed: number
  manual: boolean
}
