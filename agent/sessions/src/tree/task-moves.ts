/**
 * Effects of a child's end on its parent's tasks: which are done, retried, failed or cancelled, and which
 * start. Pure; the commit carries `tree.expect`, so that no task is missed.
 */
import { type FailedAttempt, isTaskOver, type Task, type TaskState, type TaskStatus } from '@cairn/log'

/** What has just happened to a task. */
export type TaskEnd = { task_id: string } & (
  | { as: 'done'; result: string; metadata?: Record<string, unknown> | undefined }
  /** An attempt failed. */
  | { as: 'attempt_failed'; attempt: FailedAttempt }
  | { as: 'cancelled'; error: string; decided_by?: TaskState['decided_by'] }
)
/** Open children of the owner, and children added to its tree within a day. */
export type ChildCounts = { open: number; spawned: number }

type TaskMove = {
  task: Task
  to: TaskStatus
  state: TaskState
  /** The number of the attempt, if one starts. */
  attempt?: number
}
export type TaskMoves = {
  /** In the order of the tasks, the ended one first. */
  moves: TaskMove[]
  /** The failed attempt is retried, now or as soon as there is capacity. */
  will_retry: boolean
  failed: { task: Task; error: string; cancelled: string[] }[]
  /** Tasks that depended on a cancelled one. */
  cancelled: string[]
}

type Limits = { max_open: number; max_total: number }

export function moveTasks(
  tasks: readonly Task[],
  end: TaskEnd | null,
  counts: ChildCounts,
  limitsOf: (task: Task) => Limits,
): TaskMoves {
  const at = new Map(tasks.map(task => [task.task_id, task.status]))
  const moves = new Map<string, TaskMove>()
  const found: TaskMoves = { moves: [], will_retry: false, failed: [], cancelled: [] }
  const move = (task: Task, to: TaskStatus, state: TaskState, attempt?: number): void => {
    const before = moves.get(task.task_id)
    at.set(task.task_id, to)
    moves.set(task.task_id, {
      task,
      to,
      state: { ...before?.state, ...state },
      ...(attempt === undefined ? {} : { attempt }),
    })
  }
  const isFull = (task: Task): boolean => counts.spawned >= limitsOf(task).max_total
  const fail = (task: Task, error: string, state: TaskState = {}): void => {
    move(task, 'failed', { ...state, error })
    found.failed.push({ task, error, cancelled: cancelAfter() })
  }
  /** Cancels tasks that can never start any more. */
  function cancelAfter(): string[] {
    const gone: string[] = []
    for (let before = -1; before !== gone.length;) {
      before = gone.length
      for (const task of tasks) {
        const lost = task.after.find(id => at.get(id) === 'failed' || at.get(id) === 'cancelled')
        if (at.get(task.task_id) !== 'todo' || lost === undefined) continue
        move(task, 'cancelled', { error: `Task ${lost}, which must be done first, was not completed.` })
        gone.push(task.task_id)
      }
    }
    return gone
  }

  const ended = tasks.find(task => task.task_id === end?.task_id)
  if (end !== null && ended !== undefined && !isTaskOver(ended)) {
    if (end.as === 'done') move(ended, 'done', { result: end.result, ...ifGiven(end.metadata) })
    else if (end.as === 'cancelled') {
      move(ended, 'cancelled', { error: end.error, decided_by: end.decided_by ?? null })
      found.cancelled = cancelAfter()
    } else {
      const failed = [...(ended.state.failed ?? []), end.attempt]
      if (ended.attempt_count >= ended.max_attempts) fail(ended, end.attempt.error, { failed })
      else if (isFull(ended)) fail(ended, `${end.attempt.error} ${fullOf(limitsOf(ended))}`, { failed })
      else {
        found.will_retry = true
        move(ended, 'todo', { failed })
      }
    }
  }

  const isReady = (task: Task): boolean =>
    at.get(task.task_id) === 'todo' && task.after.every(id => at.get(id) === 'done')
  // A retry goes before tasks that have not started.
  const queue = [...(found.will_retry && ended !== undefined ? [ended] : []), ...tasks]
  let { open, spawned } = counts
  for (const task of queue) {
    if (!isReady(task)) continue
    const limits = limitsOf(task)
    if (spawned >= limits.max_total) fail(task, `The task could not start. ${fullOf(limits)}`)
    else if (open < limits.max_open) {
      open += 1
      spawned += 1
      move(task, 'running', {}, task.attempt_count + 1)
    }
  }
  found.moves = [...moves.values()]
  return found
}

const ifGiven = (metadata: Record<string, unknown> | undefined): TaskState =>
  metadata === undefined ? {} : { metadata }
const fullOf = ({ max_total }: Limits): string =>
  `The session tree reached its limit of ${max_total} workers per day.`
