/** The end of a run: one `loop.result` on the session of its schedule, and the effect on the schedule. */
import type { Link, LinkedCommit, RowChange, SessionRow } from '@cairn/log'
import { cutAt, type EventDraft, type RunOutcome } from '@cairn/protocol'
import type { ChildEnding } from './child-end.ts'
import { addUsage, reportOf, seenOf, type Usage } from './child-report.ts'
import { loopResult, RESULT_CHARS } from '../events/coordination.ts'
import { budgetOf, childConfig } from '../create.ts'
import { dropDeadline } from './deadline-timer.ts'
import type { Deps } from '../deps.ts'
import { beginRun } from '../schedules/begin-run.ts'
import { decideEnded } from '../schedules/decide.ts'
import { retireTimer } from '../schedules/retire-timer.ts'
import { LAST_RESULT_CHARS, type ScheduleSpec } from '../schedules/schedule.ts'
import { rowsOf, scheduleOf } from '../schedules/stored.ts'
import { scheduleNotifications } from '../schedules/notifications.ts'

/** Like the outcomes of other children: rows for the run itself, and events for its parent. */
export type RunEnd = {
  used: Usage
  rows: RowChange[]
  parent_events: EventDraft[]
  wakes: boolean
  parent_rows: RowChange[]
  more: LinkedCommit[]
}

const OUTCOMES: Readonly<Record<string, RunOutcome>> = {
  budget: 'budget_exhausted',
  tool_loop: 'tool_loop',
  error: 'failed',
  timeout: 'timeout',
  deadline: 'timeout',
}

/** `follow: false`: the caller updates the schedule in the same commit. */
export async function endOfRun(
  deps: Deps,
  run: SessionRow,
  link: Link,
  ending: ChildEnding,
  follow: boolean,
  /** Usage of the direct children that end with it. */
  below?: Usage,
): Promise<RunEnd> {
  const about = childConfig(run)?.run
  if (about === undefined)
    throw new Error(`[schedule] session ${run.id} is a scheduled run without a schedule`)
  const report = await reportOf(deps.store, run, link, deps.now())
  if (below !== undefined) addUsage(report, below)
  const outcome: RunOutcome =
    ending.as === 'failed'
      ? (OUTCOMES[ending.cause] ?? 'cancelled')
      : report.result === ''
        ? 'empty'
        : 'success'
  const { input_tokens, output_tokens, cost_usd, duration_seconds } = report
  const isDone = outcome === 'success'
  const row = await deps.store.coordination.schedule(about.schedule_id)
  const spec = row?.spec as ScheduleSpec | undefined
  const wakes = spec?.on_result === 'wake'
  const said = ending.as === 'completed' ? report.result : report.result || ending.error
  const content = cutAt(said, RESULT_CHARS)
  const settle: RowChange = {
    do: 'link.settle',
    child_id: run.id,
    root_id: link.root_id,
    status: isDone ? 'complete' : 'failed',
    cause: isDone ? null : ending.as === 'completed' ? 'empty' : ending.cause,
    input_tokens,
    output_tokens,
    cost_usd,
    seen: seenOf(run),
  }
  const end: RunEnd = {
    used: { input_tokens, output_tokens, cost_usd },
    rows: [settle, ...timersOf(run, spec)],
    parent_events: [
      loopResult({
        run_session_id: run.id,
        schedule_id: about.schedule_id,
        scheduled_session_id: about.schedule_id,
        content,
        outcome,
        duration_seconds,
        run_completed_at: new Date(deps.now()).toISOString(),
        slot_at: new Date(about.slot_at).toISOString(),
        run_number: about.run_number,
        ...(content === said ? {} : { truncated: true }),
        ...(wakes ? { wake: true } : {}),
        input_tokens,
        output_tokens,
        cost_usd,
      }),
    ],
    wakes,
    parent_rows: [],
    more: [],
  }
  const parent = follow ? await deps.store.getSession(link.parent_id) : null
  if (row === null || parent === null) return end
  const schedule = scheduleOf(row)
  if (schedule.state.running?.slot_at !== about.slot_at) return end
  const last = cutAt(said, LAST_RESULT_CHARS)
  const decision = decideEnded(schedule, schedule.state.running, outcome, last, deps.now())
  end.parent_rows.push(...rowsOf(row, decision))
  end.parent_events.push(...scheduleNotifications(deps, parent, row, decision))
  if (decision.start !== null) {
    const { run_count, last_result } = decision.state
    const begun = beginRun(parent, row, decision.start, run_count, last_result)
    end.parent_rows.push(begun.row)
    end.more.push(begun.part)
  }
  return end
}

/** Removes the timeout timer and sets the archive timer. */
const timersOf = (run: SessionRow, spec: ScheduleSpec | undefined): RowChange[] => [
  ...(budgetOf(run)?.max_minutes === undefined ? [] : [dropDeadline(run.id)]),
  ...(spec === undefined ? [] : [retireTimer(run.id, spec.run.keep_s)]),
]
