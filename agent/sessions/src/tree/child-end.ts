/**
 * The end of a child, in both logs (contract 14.4). Every commit that ends a child includes what this
 * composes, so that its outcome is in its parent's log exactly once, from the same transaction.
 */
import type { Link, LinkCause, LinkedCommit, RowChange, SessionRow, TaskState } from '@cairn/log'
import { cutAt, type EventData, type EventDraft } from '@cairn/protocol'
import { addUsage, type ChildReport, MAX_FILES, reportOf, seenOf, type Usage } from './child-report.ts'
import {
  delegationComplete,
  delegationFailed,
  RESULT_CHARS,
  workerComplete,
  workerFailed,
} from '../events/coordination.ts'
import type { Deps } from '../deps.ts'
import { type FollowUp, followUp } from './follow-up.ts'
import { budgetOf, childConfig } from '../create.ts'
import { dropDeadline } from './deadline-timer.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { endOfRun } from './run-outcome.ts'
import { dropStaleTimer } from './stale.ts'
import type { TaskEnd } from './task-moves.ts'

/** How a child ended: completed, with a result if it has one, or failed with a cause. */
export type ChildEnding =
  { as: 'completed' } | { as: 'failed'; cause: Exclude<LinkCause, 'empty'>; error: string }

/** The effects of a child's end on other sessions. */
export type ChildOutcome = {
  used: Usage
  /** Rows for the child's own commit. */
  rows: RowChange[]
  /** Events for the parent's log. */
  parent_events: EventDraft[]
  wakes: boolean
  /** The source named by the resume event of a parent that has ended. */
  reopens: 'worker' | 'loop'
} & Pick<FollowUp, 'more' | 'decides' | 'cancelled' | 'parent_rows' | 'parent_status'>

const EMPTY = 'The worker ended without a result.'

/** Set if others end in the same commit, or the decider is known. */
export type EndContext = {
  /** The caller follows up the parent's tasks. */
  follow?: false
  decided_by?: TaskState['decided_by']
  /** Files that it wrote, if known better than from its tool calls. */
  written?: readonly string[] | null
  /** Usage of direct children that end in the same commit, which no link states yet. */
  below?: Promise<Usage>
}

export async function childOutcome(
  deps: Deps,
  child: SessionRow,
  link: Link,
  ending: ChildEnding,
  { follow, decided_by, written = null, below }: EndContext = {},
): Promise<ChildOutcome> {
  if (link.kind === 'run') {
    const end = await endOfRun(deps, child, link, ending, follow !== false, await below)
    return { ...end, decides: false, cancelled: [], reopens: 'loop' }
  }
  const [report, usedBelow] = await Promise.all([reportOf(deps.store, child, link, deps.now()), below])
  if (usedBelow !== undefined) addUsage(report, usedBelow)
  if (written !== null) report.files_written = written.slice(0, MAX_FILES)
  const failure =
    ending.as === 'failed'
      ? { cause: ending.cause, error: ending.error }
      : report.result === ''
        ? { cause: 'empty' as const, error: EMPTY }
        : null
  const { input_tokens, output_tokens, cost_usd } = report
  const settle: RowChange = {
    do: 'link.settle',
    child_id: child.id,
    root_id: link.root_id,
    status: failure === null ? 'complete' : 'failed',
    cause: failure?.cause ?? null,
    input_tokens,
    output_tokens,
    cost_usd,
    seen: seenOf(child),
  }
  const byParent = failure?.cause === 'parent'
  const next =
    byParent || follow === false
      ? null
      : await followUp(deps, link, [child.id], taskEnd(link, report, failure, decided_by))
  const partial = report.result === '' ? {} : { partial_result: report.result }
  const branch = childConfig(child)?.branch
  const about = {
    worker_id: child.id,
    ...numbersOf(report, link),
    ...(branch === undefined ? {} : { branch_key: branch.key }),
  }
  const outcome =
    failure === null
      ? workerComplete({
          ...about,
          result: report.result,
          ...(report.metadata === undefined ? {} : { metadata: report.metadata }),
        })
      : workerFailed({
          ...about,
          ...failure,
          ...partial,
          ...(next?.will_retry === true ? { will_retry: true } : {}),
          ...(next === null || next.cancelled.length === 0 ? {} : { cancelled_tasks: next.cancelled }),
        })
  return {
    used: { input_tokens, output_tokens, cost_usd },
    more: next?.more ?? [],
    parent_rows: next?.parent_rows ?? [],
    decides: next?.decides ?? false,
    cancelled: next?.cancelled ?? [],
    ...(next?.parent_status === undefined ? {} : { parent_status: next.parent_status }),
    rows: [settle, ...timersOf(child, link), ...(byParent ? cancelRows(link) : []), ...(next?.rows ?? [])],
    parent_events: [
      ...delegated(child, link, report, failure?.cause ?? null),
      outcome,
      ...(next?.parent_events ?? []),
    ],
    wakes: !byParent && next?.will_retry !== true,
    reopens: 'worker',
  }
}

type Failure = { cause: LinkCause; error: string }

/** A child that was ended by a person, its parent or an archive is not retried. */
const FINAL: readonly LinkCause[] = ['cancelled', 'archived']
const PARTIAL_CHARS = 2000

function taskEnd(
  { task_id, child_id: worker_id }: Link,
  { result, metadata }: ChildReport,
  failure: Failure | null,
  decided_by: TaskState['decided_by'],
): TaskEnd | null {
  if (task_id === null) return null
  if (failure === null) return { task_id, as: 'done', result: cutAt(result, RESULT_CHARS), metadata }
  const { cause, error } = failure
  if (FINAL.includes(cause)) return { task_id, as: 'cancelled', error, decided_by }
  const partial = result === '' ? {} : { partial_result: cutAt(result, PARTIAL_CHARS) }
  return { task_id, as: 'attempt_failed', attempt: { worker_id, error, ...partial } }
}

const cancelRows = ({ task_id, root_id }: Link): RowChange[] =>
  task_id === null
    ? []
    : [{ do: 'task.move', task_id, root_id, from: ['running', 'blocked'], to: 'cancelled' }]

/** Timers that monitored the child while it ran. */
const timersOf = (child: SessionRow, { kind }: Link): RowChange[] => [
  ...(kind === 'delegation' ? [dropStaleTimer(child.id)] : []),
  ...(budgetOf(child)?.max_minutes === undefined ? [] : [dropDeadline(child.id)]),
]

/** What the result of delegate_task shows of the child in addition to its outcome. */
function delegated(
  { id, title }: SessionRow,
  { kind, tool_call_id }: Link,
  { duration_seconds, trace, files_written, files_read }: ChildReport,
  cause: LinkCause | null,
): EventDraft[] {
  if (kind !== 'delegation' || tool_call_id === null) return []
  const about = { child_session_id: id, tool_call_id, goal: title ?? '', duration_seconds }
  return [
    cause === null
      ? delegationComplete({ ...about, tool_call_count: trace.length, trace, files_written, files_read })
      : delegationFailed({ ...about, reason: cause }),
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

/** The outcome as the parent's part of the commit; reopens a parent that has ended. */
export const notifyParent = (
  link: Link,
  { parent_events, parent_rows, parent_status, ...outcome }: ChildOutcome,
): LinkedCommit => ({
  session_id: link.parent_id,
  events: parent_events,
  ...(parent_rows.length === 0 ? {} : { rows: parent_rows }),
  ...(parent_status === undefined ? {} : { expect_status: [parent_status] }),
  ...reopening(outcome),
})

/** Reopens a parent that has ended, if the outcome wakes it. */
export const reopening = ({
  wakes,
  reopens,
}: Pick<ChildOutcome, 'wakes' | 'reopens'>): Pick<LinkedCommit, 'reopen' | 'reopen_from'> =>
  wakes ? { reopen: sessionResumed(reopens), reopen_from: ['completed'] } : {}
