/**
 * Rules of a session's tasks (contract 14.15): one attempt at a time, dependencies first, exactly one end
 * each, and an end for every task that can end. Part of `checkTree`. It reads the events and the calls that
 * created the tasks and shares no code with the writers.
 */
import type { SessionEvent } from '@cairn/protocol'
import { CANCEL_TASK_TOOL, SPAWN_TASK_TOOL } from '@cairn/state'

type Task = {
  after: readonly string[]
  attempts: number
  failures: number
  /** The last attempt failed and another follows. */
  retries: boolean
  end: 'done' | 'failed' | 'cancelled' | null
}

export function checkTasks(owner: string, log: readonly SessionEvent[]): string[] {
  const found: string[] = []
  const tasks = new Map<string, Task>()
  const after = new Map<string, readonly string[]>()
  const open = new Set<string>()
  const say = (id: string, what: string): void => void found.push(`${owner}: task ${id} ${what}`)
  const taskOf = (id: string): Task => {
    const known = tasks.get(id)
    if (known !== undefined) return known
    const task: Task = { after: [], attempts: 0, failures: 0, retries: false, end: null }
    tasks.set(id, task)
    return task
  }
  const end = (id: string, how: NonNullable<Task['end']>): void => {
    const task = taskOf(id)
    if (task.end !== null) say(id, `is ${how} but was already ${task.end}`)
    task.end = how
  }
  const cancel = (ids: readonly string[]): void => {
    for (const id of ids) end(id, 'cancelled')
  }

  for (const event of log) {
    if (event.type === 'tool.call' && event.data.name === SPAWN_TASK_TOOL)
      after.set(event.data.tool_call_id, listed(event.data.arguments['after']))
    if (event.type === 'tool.result' && event.data.name === SPAWN_TASK_TOOL) {
      const { task_id } = parsed(event.data.content)
      if (typeof task_id === 'string') taskOf(task_id).after = after.get(event.data.tool_call_id) ?? []
    }
    // The outcome of its worker reports the cancellation of a running task.
    if (event.type === 'tool.result' && event.data.name === CANCEL_TASK_TOOL)
      cancel(listed(parsed(event.data.content)['cancelled']).filter(id => taskOf(id).end === null))
    if (event.type === 'user.message' && event.data.synthetic === 'task_cancelled')
      cancel(listed(event.data.metadata?.['cancelled_tasks']))
    if (event.type === 'worker.spawned') open.add(event.data.worker_id)
    if (event.type === 'worker.complete' || event.type === 'worker.failed') open.delete(event.data.worker_id)
    if (event.type === 'worker.spawned' && event.data.task_id !== undefined) {
      const { task_id, attempt = 0 } = event.data
      const task = taskOf(task_id)
      if (task.end !== null) say(task_id, `is retried but was ${task.end}`)
      if (attempt !== task.attempts + 1) say(task_id, `has attempt ${attempt} after ${task.attempts}`)
      if (attempt > 1 && !task.retries) say(task_id, 'is retried, but no retry was announced')
      task.attempts = attempt
      task.retries = false
    }
    if (event.type === 'worker.complete' && event.data.task_id !== undefined) end(event.data.task_id, 'done')
    if (event.type === 'worker.failed' && event.data.task_id !== undefined) {
      const { task_id, cause, will_retry = false, cancelled_tasks = [] } = event.data
      const task = taskOf(task_id)
      task.failures += 1
      task.retries = will_retry
      if (cause === 'cancelled' || cause === 'archived' || cause === 'parent') end(task_id, 'cancelled')
      cancel(cancelled_tasks)
    }
    // The end of a session's work also ends its tasks that have not started.
    if (event.type === 'worker.failed' && event.data.cause === 'parent')
      for (const [id, { end: was, attempts, failures }] of tasks)
        if (was === null && attempts === failures) end(id, 'cancelled')
    if (event.type === 'task.failed') {
      const { task_id, attempt_count, cancelled_tasks } = event.data
      const task = taskOf(task_id)
      if (attempt_count !== task.failures)
        say(task_id, `failed after ${attempt_count} attempts, but ${task.failures} failed`)
      if (task.retries) say(task_id, 'failed, but a retry was announced')
      end(task_id, 'failed')
      cancel(cancelled_tasks)
    }
  }
  for (const [id, task] of tasks) found.push(...checkOrder(owner, id, task, tasks, log, open.size === 0))
  return found
}

/** A task starts only after its dependencies are done, and none keeps waiting when nothing runs. */
function checkOrder(
  owner: string,
  id: string,
  { after, attempts, end }: Task,
  tasks: ReadonlyMap<string, Task>,
  log: readonly SessionEvent[],
  atRest: boolean,
): string[] {
  const begun = log.find(event => event.type === 'worker.spawned' && event.data.task_id === id)
  const early = after.filter(
    before =>
      begun !== undefined &&
      !log.some(
        event => event.type === 'worker.complete' && event.data.task_id === before && event.id < begun.id,
      ),
  )
  const found = early.map(before => `${owner}: task ${id} started before ${before} was done`)
  const isReady = after.every(before => tasks.get(before)?.end === 'done')
  const isLost = after.some(before => ['failed', 'cancelled'].includes(tasks.get(before)?.end ?? ''))
  if (end === null && attempts === 0 && isLost)
    found.push(`${owner}: task ${id} waits for a task that will never be done`)
  if (end === null && isReady && atRest) found.push(`${owner}: task ${id} is ready, but no worker runs it`)
  return found
}

const listed = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

function parsed(content: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(content)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    // The content is not the result of creating or cancelling a task.
    return {}
  }
}
