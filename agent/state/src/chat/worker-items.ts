/**
 * The workers of a session as chat items: a card at the place where the worker was created, showing its
 * outcome. Workers of tasks are in task-items.ts. For display only: what a session waits for is in
 * children.ts.
 */
import type { EventOf, SessionEvent } from '@cairn/protocol'
import { type ChatItem, findItem, placeOf } from './chat-item.ts'
import type { WorkerItem, WorkerOutcome } from './worker-item.ts'

export function foldWorkers(items: ChatItem[], event: SessionEvent): void {
  switch (event.type) {
    case 'worker.spawned': {
      const { worker_id, goal, agent, kind } = event.data
      if (kind === 'task') return
      items.push({
        kind: 'worker',
        ...placeOf(event),
        worker_id,
        goal,
        agent,
        role: kind,
        timeout_seconds: null,
        status: 'open',
        idle_seconds: null,
        outcome: null,
      })
      return
    }
    case 'delegation.start': {
      const { child_session_id: child, timeout_seconds } = event.data
      return change(items, child, { timeout_seconds })
    }
    case 'delegation.stale': {
      const { child_session_id: child, idle_seconds } = event.data
      return change(items, child, { idle_seconds })
    }
    case 'worker.complete':
    case 'worker.failed':
      return settle(items, event)
    default:
      return
  }
}

/** The card may be far up by now, so the end gets its own line, unless a call waited for it. */
function settle(items: ChatItem[], event: EventOf<'worker.complete'> | EventOf<'worker.failed'>): void {
  const { worker_id } = event.data
  const item = findWorker(items, worker_id)?.item ?? null
  if (item === null) return
  const isComplete = event.type === 'worker.complete'
  change(items, worker_id, { status: isComplete ? 'complete' : 'failed', outcome: outcomeOf(event) })
  if (item.role === 'delegation' || (!isComplete && event.data.cause === 'parent')) return
  items.push({
    kind: 'notice',
    ...placeOf(event),
    type: event.type,
    level: isComplete ? 'info' : 'warning',
    text: `Worker ${isComplete ? 'finished' : 'failed'}: ${item.goal}`,
  })
}

const findWorker = (items: readonly ChatItem[], id: string) =>
  findItem(items, 'worker', item => item.worker_id === id, Infinity)

function change(items: ChatItem[], id: string, changes: Partial<WorkerItem>): void {
  const known = findWorker(items, id)
  if (known) items[known.index] = { ...known.item, ...changes }
}

export function outcomeOf(event: EventOf<'worker.complete'> | EventOf<'worker.failed'>): WorkerOutcome {
  const { duration_seconds, iterations, input_tokens, output_tokens, cost_usd, files_written } = event.data
  const numbers = {
    event_id: event.id,
    duration_seconds,
    iterations,
    tokens: input_tokens + output_tokens,
    cost_usd,
    files_written,
  }
  if (event.type === 'worker.complete') {
    const { result, truncated = false } = event.data
    return { ...numbers, text: result, partial: null, truncated, cause: null }
  }
  const { error, partial_result = null, cause } = event.data
  return { ...numbers, text: error, partial: partial_result, truncated: false, cause }
}
