/**
 * Tasks: pieces of a session's work, with dependencies. Each attempt at a task is a child session. The row
 * has the state of the task; it changes in the commits that start and end attempts.
 */
import type { Principal } from '@cairn/protocol'
import { ownColumns } from '../../engine/own-columns.ts'
import { Refusing } from '../../engine/refusing.ts'
import { redactJson } from '../../engine/redact-json.ts'
import type { ChangeContext, Keyed, Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'

export const TASK_STATUSES = ['todo', 'running', 'blocked', 'done', 'failed', 'cancelled'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

/** A failed attempt, as passed to the next one. */
export type FailedAttempt = { worker_id: string; error: string; partial_result?: string }

/** Progress so far; keys are absent until they have a value. */
export type TaskState = {
  /** The child of the running attempt, or of the last one once the task is over. */
  worker_id?: string
  failed?: readonly FailedAttempt[]
  result?: string
  metadata?: Record<string, unknown>
  /** Why it failed or was cancelled. */
  error?: string
  blocked_reason?: string
  /** The call of its worker that waits for the answer. */
  block_call_id?: string
  /** The principal that answered the last block or cancelled the task; null: the session that owns it. */
  decided_by?: Pick<Principal, 'kind' | 'id'> | null
}
export type NewTask = {
  task_id: string
  owner_id: string
  root_id: string
  goal: string
  /** Input of an attempt; opaque to the store. */
  plan: Record<string, unknown>
  /** Tasks of the same owner that must be done first. */
  after: readonly string[]
  max_attempts: number
  status: 'todo' | 'running'
  attempt_count: number
  state: TaskState
}
export type Task = Omit<NewTask, 'status'> & {
  status: TaskStatus
  /** Epoch milliseconds. */
  created_at: number
  started_at: number | null
  ended_at: number | null
}

export interface TaskReads {
  get(taskId: string): Promise<Task | null>
  /** The tasks of a session, oldest first. */
  list(ownerId: string): Promise<Task[]>
}

export type TaskChange =
  /** Rejected with `exists` if the id is taken. */
  | { do: 'task.add'; task: NewTask }
  /**
   * Guard and change: rejected with `task_moved` unless the task has one of these statuses. `state` is merged
   * into the stored one.
   */
  | {
      do: 'task.move'
      task_id: string
      root_id: string
      from: readonly TaskStatus[]
      to: TaskStatus
      attempt_count?: number
      state?: TaskState
    }

const OVER: readonly TaskStatus[] = ['done', 'failed', 'cancelled']
export const isTaskOver = ({ status }: Pick<Task, 'status'>): boolean => OVER.includes(status)

/** A task as it is stored. */
export type StoredTask = Omit<Task, 'plan' | 'after' | 'state'> & {
  plan: string
  after: string
  state: string
}

const ownTask = ownColumns<StoredTask>({
  task_id: true,
  owner_id: true,
  root_id: true,
  goal: true,
  max_attempts: true,
  attempt_count: true,
  status: true,
  created_at: true,
  started_at: true,
  ended_at: true,
  plan: true,
  after: true,
  state: true,
})

export const toTask = (row: Keyed<StoredTask>): Task => ({
  ...ownTask(row),
  plan: JSON.parse(row.plan) as Record<string, unknown>,
  after: JSON.parse(row.after) as string[],
  state: JSON.parse(row.state) as TaskState,
})

export const storedTask = (task: NewTask, at: number): StoredTask => ({
  ...task,
  plan: JSON.stringify(task.plan),
  after: JSON.stringify(task.after),
  state: JSON.stringify(task.state),
  created_at: at,
  started_at: task.status === 'running' ? at : null,
  ended_at: null,
})

type Moved = Pick<StoredTask, 'status' | 'attempt_count' | 'state' | 'started_at' | 'ended_at'>

/** The task after a change; rejected if its status is not one that the change starts from. */
export function moveTask(
  task: StoredTask | undefined,
  { task_id, from, to, attempt_count, state }: Extract<TaskChange, { do: 'task.move' }>,
  { row, at }: ChangeContext,
): Moved {
  if (task === undefined || !from.includes(task.status)) throw taskRefusals.moved(row, task_id, task?.status)
  return {
    status: to,
    attempt_count: attempt_count ?? task.attempt_count,
    state: JSON.stringify({ ...(JSON.parse(task.state) as TaskState), ...state }),
    started_at: task.started_at ?? (to === 'running' ? at : null),
    ended_at: OVER.includes(to) ? at : null,
  }
}

export const taskChanges: Resource<TaskChange, TaskReads>['changes'] = {
  'task.add': {
    trees: ({ task }) => [task.root_id],
    redact: (change, redact) => ({ ...change, task: redactJson(redact, change.task) }),
  },
  'task.move': {
    trees: ({ root_id }) => [root_id],
    redact: (change, redact) =>
      change.state === undefined ? change : { ...change, state: redactJson(redact, change.state) },
  },
}

/** Refusals of changes to tasks, worded alike for all stores. */
export const taskRefusals = {
  exists: (row: StoredSession, task: string) =>
    new Refusing('exists', `[commit] task ${task} exists already`, row),
  moved: (row: StoredSession, task: string, status: string | undefined) =>
    new Refusing('task_moved', `[commit] task ${task} is ${status ?? 'missing'}`, row),
}
