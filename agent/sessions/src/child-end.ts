/**
 * The end of a child, in both logs (contract 14.4): whoever ends a child commits what this composes, so that
 * its outcome stands in its parent's log exactly once, from the very transaction of its end.
 */
import type { Link, LinkCause, LinkedCommit, LogStore, RowChange, SessionRow } from '@cairn/log'
import type { EventData, EventDraft } from '@cairn/protocol'
import { type ChildReport, reportOf } from './child-report.ts'
import { delegationComplete, delegationFailed, workerComplete, workerFailed } from './coordination.ts'
import { resumed } from './lifecycle-events.ts'
import { dropStaleTimer } from './stale.ts'

/** How a child ended: with a result if it has one, or without, and why. */
export type ChildEnding =
  { as: 'completed' } | { as: 'failed'; cause: Exclude<LinkCause, 'empty'>; error: string }

/** What the end of a child means for others: rows for its own commit, events for its parent's log. */
export type Outcome = { rows: RowChange[]; told: EventDraft[]; wakes: boolean }

const EMPTY = 'The worker ended without a result.'

export async function outcomeOf(
  store: LogStore,
  child: SessionRow,
  link: Link,
  ending: ChildEnding,
  now: number,
): Promise<Outcome> {
  const report = await reportOf(store, child, link, now)
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
  }
  const about = { worker_id: child.id, ...numbersOf(report, link) }
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
          ...(report.result === '' ? {} : { partial_result: report.result }),
        })
  return {
    rows: [settle, ...(link.kind === 'delegation' ? [dropStaleTimer(child.id)] : [])],
    told: [...delegated(child, link, report, failure?.cause ?? null), outcome],
    wakes: failure?.cause !== 'parent',
  }
}

/** What a call of delegate_task shows of the child beside its outcome. */
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
  { tool_call_id }: Link,
): Omit<EventData<'worker.complete'>, 'worker_id' | 'result'> => ({
  iterations: report.iterations,
  duration_seconds: report.duration_seconds,
  input_tokens: report.input_tokens,
  output_tokens: report.output_tokens,
  cost_usd: report.cost_usd,
  files_written: report.files_written,
  ...(report.artifacts.length === 0 ? {} : { artifacts: report.artifacts }),
  ...(tool_call_id === null ? {} : { tool_call_id }),
})

/** The outcome as the parent's part of the commit: a parent that has ended is reopened for it. */
export const tellParent = (link: Link, { told, wakes }: Pick<Outcome, 'told' | 'wakes'>): LinkedCommit => ({
  session_id: link.parent_id,
  events: told,
  ...(wakes ? { reopen: resumed('worker'), reopen_from: ['completed'] } : {}),
})
