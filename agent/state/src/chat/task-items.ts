/**
 * The tasks of a session as chat items: a card at the place where the task was created, and a line when one
 * is blocked or over. A task that waits for others has no event of its own; it is read from tool calls and
 * their results. For display only: what a session waits for is in children.ts and tasks.ts.
 */
import type { EventId, EventOf, SessionEvent } from '@cairn/protocol'
import { type ChatItem, findItem, type ItemOf, placeOf } from './chat-item.ts'
import {
  CANCEL_TASK_TOOL,
  listOf,
  parseResult,
  SPAWN_TASK_TOOL,
  UNBLOCK_TASK_TOOL,
} from '../capabilities/children.ts'
import { isTaskItemOver, type TaskItem } from './task-item.ts'
import { DEFAULT_ATTEMPTS } from '../capabilities/tasks.ts'
import { outcomeOf } from './worker-items.ts'

export function foldTaskItems(items: ChatItem[], event: SessionEvent): void {
  switch (event.type) {
    case 'worker.spawned':
      return beginAttempt(items, event)
    case 'worker.complete':
    case 'worker.failed':
      return endAttempt(items, event)
    case 'task.blocked': {
      const { task_id, reason } = event.data
      const task = change(items, task_id, { status: 'blocked', reason })
      return line(items, event, 'warning', `Task blocked: ${task?.goal ?? reason}`)
    }
    case 'task.failed': {
      const { task_id, attempt_count, error, cancelled_tasks } = event.data
      const task = change(items, task_id, { status: 'failed', reason: error })
      cancel(items, cancelled_tasks, 'A task that it depends on failed.')
      const times = attempt_count === 1 ? '1 attempt' : `${attempt_count} attempts`
      return line(items, event, 'error', `Task failed after ${times}: ${task?.goal ?? error}`)
    }
    case 'tool.result':
      return toldByTool(items, event)
    case 'user.message': {
      const { synthetic, metadata } = event.data
      if (synthetic === 'task_cancelled')
        cancel(items, listOf(metadata?.['cancelled_tasks']), 'A user cancelled it.')
      return
    }
    default:
      return
  }
}

type Call = Pick<TaskItem, 'goal' | 'agent' | 'after' | 'max_attempts'>

/** The arguments of the call that created a task. */
function askedFor(items: readonly ChatItem[], callId: string | undefined): Call | null {
  const call =
    callId === undefined ? null : findItem(items, 'tool', item => item.tool_call_id === callId, Infinity)
  if (call === null || typeof call.item.arguments === 'string') return null
  const { goal, agent, after, max_attempts: most } = call.item.arguments
  return {
    goal: typeof goal === 'string' ? goal : '',
    agent: typeof agent === 'string' ? agent : null,
    after: listOf(after).map(id => ({ task_id: id, goal: findTask(items, id)?.item.goal ?? null })),
    max_attempts: typeof most === 'number' ? most : DEFAULT_ATTEMPTS,
  }
}

const made = (at: { id: EventId; created_at: string }, task_id: string, call: Call): TaskItem => ({
  kind: 'task',
  ...placeOf(at),
  task_id,
  ...call,
  status: 'todo',
  reason: null,
  attempts: [],
})

function beginAttempt(items: ChatItem[], event: EventOf<'worker.spawned'>): void {
  const { task_id, worker_id, goal, agent, attempt = 1, tool_call_id } = event.data
  if (task_id === undefined) return
  if (findTask(items, task_id) === null) {
    const call = askedFor(items, tool_call_id) ?? { goal, after: [], max_attempts: null }
    items.push(made(event, task_id, { ...call, agent }))
  }
  const known = findTask(items, task_id)?.item.attempts ?? []
  const begun = { worker_id, number: attempt, created_at: event.created_at, outcome: null }
  change(items, task_id, { agent, status: 'running', reason: null, attempts: [...known, begun] })
}

function endAttempt(items: ChatItem[], event: EventOf<'worker.complete'> | EventOf<'worker.failed'>): void {
  const { task_id, worker_id } = event.data
  const known = task_id === undefined ? null : findTask(items, task_id)
  if (event.type === 'worker.failed') {
    const { cause, cancelled_tasks = [] } = event.data
    // The end of this session's work ends its tasks, including those that never started.
    if (cause === 'parent') cancelAll(items)
    cancel(items, cancelled_tasks, 'A task that it depends on was cancelled.')
  }
  if (known === null || task_id === undefined) return
  const outcome = outcomeOf(event)
  const attempts = known.item.attempts.map(each =>
    each.worker_id === worker_id ? { ...each, outcome } : each,
  )
  if (event.type === 'worker.complete') {
    change(items, task_id, { attempts, status: 'done', reason: null })
    return line(items, event, 'info', `Task done: ${known.item.goal}`)
  }
  const { cause, will_retry = false, error } = event.data
  if (will_retry) return void change(items, task_id, { attempts, status: 'todo', reason: null })
  const isCancelled = cause === 'cancelled' || cause === 'parent' || cause === 'archived'
  // The next event reports the failure.
  change(items, task_id, { attempts, reason: error, ...(isCancelled ? { status: 'cancelled' } : {}) })
  if (cause !== 'parent' && isCancelled) line(items, event, 'info', `Task cancelled: ${known.item.goal}`)
}

function toldByTool(items: ChatItem[], event: EventOf<'tool.result'>): void {
  const { name, content, tool_call_id } = event.data
  if (name !== SPAWN_TASK_TOOL && name !== CANCEL_TASK_TOOL && name !== UNBLOCK_TASK_TOOL) return
  const { task_id, status, cancelled } = parseResult(content)
  if (typeof task_id !== 'string') return
  if (name === CANCEL_TASK_TOOL) return cancel(items, listOf(cancelled), 'It was cancelled.')
  if (name === UNBLOCK_TASK_TOOL) {
    if (status === 'running') change(items, task_id, { status: 'running', reason: null })
    return
  }
  const call = askedFor(items, tool_call_id)
  if (call !== null && findTask(items, task_id) === null) items.push(made(event, task_id, call))
}

function cancel(items: ChatItem[], ids: readonly string[], reason: string): void {
  for (const id of ids) {
    const known = findTask(items, id)
    if (known !== null && !isTaskItemOver(known.item)) change(items, id, { status: 'cancelled', reason })
  }
}

function cancelAll(items: ChatItem[]): void {
  const open = items.flatMap(item => (item.kind === 'task' && !isTaskItemOver(item) ? [item.task_id] : []))
  cancel(items, open, 'The session ended its work.')
}

const findTask = (items: readonly ChatItem[], id: string) =>
  findItem(items, 'task', item => item.task_id === id, Infinity)

function change(items: ChatItem[], id: string, changes: Partial<TaskItem>): TaskItem | null {
  const known = findTask(items, id)
  if (known === null) return null
  const next = { ...known.item, ...changes }
  items[known.index] = next
  return next
}

/** Adds a line, because the card may be far up by now. */
const line = (items: ChatItem[], event: SessionEvent, level: ItemOf<'notice'>['level'], text: string): void =>
  void items.push({ kind: 'notice', ...placeOf(event), type: event.type, level, text })
