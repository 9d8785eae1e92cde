/**
 * The outcome of an ended child (contract 14.4): the rows of its own part of the commit, and the events of
 * its parent's log. Pure: end-tree.ts reads the child before and commits the outcome, exactly once, together
 * with the end.
 */
import type { Link, LinkCause, RowChange, SessionRow, StoreSchedule } from '@cairn/log'
import { cutAt, type EventData, type EventDraft, type RunOutcome } from '@cairn/protocol'
import { budgetOf, type ChildConfig, childConfig } from '../create.ts'
import {
  delegationComplete,
  delegationFailed,
  loopResult,
  RESULT_CHARS,
  workerComplete,
  workerFailed,
} from '../events/coordination.ts'
import { scheduleOf } from '../schedules/schedule-rows.ts'
import { type ChildReport, seenOf, type Usage } from './child-report.ts'
import { dropStaleTimer } from './stale.ts'
import { dropDeadline, retireTimer } from './timers.ts'

/** How a child ended: completed, with a result if it has one, or failed with a cause. */
export type ChildEnding =
  { as: 'completed' } | { as: 'failed'; cause: Exclude<LinkCause, 'empty'>; error: string }

/** `report` includes the usage of the descendants that end in the same commit. */
export type EndedChild = { session: SessionRow; link: Link; report: ChildReport; ending: ChildEnding }

export type ChildOutcome = {
  used: Usage
  /** Rows for the child's own part of the commit. */
  rows: RowChange[]
  /** Events for the parent's log. */
  parent_events: EventDraft[]
  wakes: boolean
  /** The source named by the resume event of a parent that has ended. */
  reopens: 'worker' | 'loop'
}

const EMPTY = 'The worker ended without a result.'

type Failure = { cause: LinkCause; error: string }

/** Why the child failed; null if it completed with a result. */
export function failureOf({ ending, report }: Pick<EndedChild, 'ending' | 'report'>): Failure | null {
  if (ending.as === 'failed') return { cause: ending.cause, error: ending.error }
  return report.result === '' ? { cause: 'empty', error: EMPTY } : null
}

/** `tasks`: what the end means for the tasks of the parent. */
export function workerOutcome(
  child: EndedChild,
  tasks: { will_retry: boolean; cancelled: readonly string[] },
): ChildOutcome {
  const { session, link, report } = child
  const failure = failureOf(child)
  const isStoppedByParent = failure?.cause === 'parent'
  const branch = childConfig(session)?.branch
  const about = {
    worker_id: session.id,
    ...numbersOf(report, link),
    ...(branch === undefined ? {} : { branch_key: branch.key }),
  }
  const event =
    failure === null
      ? workerComplete({
          ...about,
          result: report.result,
          ...(report.metadata === undefined ? {} : { metadata: report.metadata }),
        })
      : workerFailed({
          ...about,
          ...failure,
          ...(report.result === '' ? {} : { partial_result: report.result }),
          ...(tasks.will_retry ? { will_retry: true } : {}),
          ...(tasks.cancelled.length === 0 ? {} : { cancelled_tasks: [...tasks.cancelled] }),
        })
  return {
    used: usageOf(report),
    rows: [
      settleLink(child, failure),
      ...(link.kind === 'delegation' ? [dropStaleTimer(session.id)] : []),
      ...dropTimeLimit(session),
      ...(isStoppedByParent ? cancelTask(link) : []),
    ],
    parent_events: [...delegated(child, failure), event],
    wakes: !isStoppedByParent && !tasks.will_retry,
    reopens: 'worker',
  }
}

const settleLink = ({ session, link, report }: EndedChild, failure: Failure | null): RowChange => ({
  do: 'link.settle',
  child_id: session.id,
  root_id: link.root_id,
  status: failure === null ? 'complete' : 'failed',
  cause: failure?.cause ?? null,
  ...usageOf(report),
  seen: seenOf(session),
})

const usageOf = ({ input_tokens, output_tokens, cost_usd }: Usage): Usage => ({
  input_tokens,
  output_tokens,
  cost_usd,
})

const dropTimeLimit = (session: SessionRow): RowChange[] =>
  budgetOf(session)?.max_minutes === undefined ? [] : [dropDeadline(session.id)]

/** The task of a child that its parent stops is cancelled with it. */
const cancelTask = ({ task_id, root_id }: Link): RowChange[] =>
  task_id === null
    ? []
    : [{ do: 'task.move', task_id, root_id, from: ['running', 'blocked'], to: 'cancelled' }]

/** What the result of delegate_task shows of the child in addition to its outcome. */
function delegated({ session, link, report }: EndedChild, failure: Failure | null): EventDraft[] {
  const { kind, tool_call_id } = link
  if (kind !== 'delegation' || tool_call_id === null) return []
  const { duration_seconds, trace, files_written, files_read } = report
  const about = {
    child_session_id: session.id,
    tool_call_id,
    goal: session.title ?? '',
    duration_seconds,
  }
  return [
    failure === null
      ? delegationComplete({ ...about, tool_call_count: trace.length, trace, files_written, files_read })
      : delegationFailed({ ...about, reason: failure.cause }),
  ]
}

const numbersOf = (
  report: ChildReport,
  { tool_call_id, task_id, attempt }: Link,
): Omit<EventData<'worker.complete'>, 'worker_id' | 'result'> => ({
  iterations: report.iterations,
  duration_seconds: report.duration_seconds,
  input_tokens: report.input_tokens,
  output_tokens: report.output_tokens,
  cost_usd: report.cost_usd,
  files_written: report.files_written,
  ...(report.artifacts.length === 0 ? {} : { artifacts: report.artifacts }),
  ...(tool_call_id === null ? {} : { tool_call_id }),
  ...(task_id === null ? {} : { task_id }),
  ...(attempt === null ? {} : { attempt }),
})

/** The schedule and the time of a scheduled run; throws for any other session. */
export function runOf(session: SessionRow): NonNullable<ChildConfig['run']> {
  const run = childConfig(session)?.run
  if (run === undefined)
    throw new Error(`[schedule] session ${session.id} is a scheduled run without a schedule`)
  return run
}

const RUN_OUTCOMES: Readonly<Partial<Record<LinkCause, RunOutcome>>> = {
  empty: 'empty',
  budget: 'budget_exhausted',
  tool_loop: 'tool_loop',
  error: 'failed',
  timeout: 'timeout',
  deadline: 'timeout',
}

/** How a run ended, and the text that stands for its result. */
export function runResult(child: EndedChild): { outcome: RunOutcome; text: string } {
  const { ending, report } = child
  const failure = failureOf(child)
  return {
    outcome: failure === null ? 'success' : (RUN_OUTCOMES[failure.cause] ?? 'cancelled'),
    text: ending.as === 'completed' ? report.result : report.result || ending.error,
  }
}

/** The outcome of a scheduled run: one `loop.result`. */
export function runOutcome(child: EndedChild, schedule: StoreSchedule | null, now: number): ChildOutcome {
  const { session, report } = child
  const spec = schedule === null ? null : scheduleOf(schedule).spec
  const { schedule_id, slot_at, run_number } = runOf(session)
  const { outcome, text } = runResult(child)
  const content = cutAt(text, RESULT_CHARS)
  const wakes = spec?.on_result === 'wake'
  return {
    used: usageOf(report),
    rows: [
      settleLink(child, failureOf(child)),
      ...dropTimeLimit(session),
      ...(spec === null ? [] : [retireTimer(session.id, spec.run.keep_s)]),
    ],
    parent_events: [
      loopResult({
        run_session_id: session.id,
        schedule_id,
        scheduled_session_id: schedule_id,
        content,
        outcome,
        duration_seconds: report.duration_seconds,
        run_completed_at: new Date(now).toISOString(),
        slot_at: new Date(slot_at).toISOString(),
        run_number,
        ...(content === text ? {} : { truncated: true }),
        ...(wakes ? { wake: true } : {}),
        ...usageOf(report),
      }),
    ],
    wakes,
    reopens: 'loop',
  }
}
