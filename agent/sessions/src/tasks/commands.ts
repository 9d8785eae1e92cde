/**
 * What a task's owner and people can do about it: answer a block, or cancel. Both compose the same parts. The
 * first answer counts; later ones are rejected with the name of who answered (contract 14.4).
 */
import {
  CommitRefused,
  type Decider,
  isTaskOver,
  type LinkedCommit,
  type LogStore,
  type RowChange,
  type SessionRow,
  type Task,
} from '@cairn/log'
import { AppError, type EventDraft, type Principal, type TaskView } from '@cairn/protocol'
import { findSession } from '../access.ts'
import { composeChildEnd } from '../tree/end-tree.ts'
import { commitTree } from '../tree/commit-tree.ts'
import type { Deps } from '../deps.ts'
import { closeItem, followUpTasks } from '../tree/follow-up.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { syntheticMessage, TAKES_INPUT } from '../events/messages.ts'
import { deciderOf } from '../principal-stamp.ts'
import { refusedAs } from '../refusals.ts'

/** What a commit of the owner, or one on its behalf, does about a task. */
export type TaskChange = { rows: RowChange[]; also: LinkedCommit[] }

/**
 * Answers a block: the answer becomes the result of the waiting call. `decided_by` is null for the owner
 * itself.
 */
export function composeUnblock(task: Task, answer: string, decided_by: Decider | null): TaskChange {
  const { task_id, root_id, state } = task
  const { worker_id = '', block_call_id = '' } = state
  return {
    rows: [{ do: 'task.move', task_id, root_id, from: ['blocked'], to: 'running', state: { decided_by } }],
    also: [
      {
        session_id: worker_id,
        events: [syntheticMessage('task_unblocked', answer, { tool_call_id: block_call_id, task_id })],
        expect_status: ['active', 'paused'],
      },
    ],
  }
}

export type CancelledTask = TaskChange & {
  /** Events for the owner's log. */
  events: EventDraft[]
  /** The task and all tasks that depended on it. */
  cancelled: string[]
}

/** Ends a task together with its running attempt; null if it is over. */
export async function composeCancel(
  deps: Deps,
  task: Task,
  reason: string,
  decided_by: Decider | null,
): Promise<CancelledTask | null> {
  if (isTaskOver(task)) return null
  const { task_id, root_id, owner_id, status, state } = task
  const error = `The task was cancelled: ${reason}`
  if (status !== 'todo') {
    const ending = { as: 'failed', cause: 'cancelled', error } as const
    const end = await composeChildEnd(deps, state.worker_id ?? '', ending, 'cancelled', { decided_by })
    if (end === null) return null
    const { parent_events, rows, parts, cancelled } = end
    return { events: parent_events, rows, also: parts, cancelled: [task_id, ...cancelled] }
  }
  const { version } = await deps.store.links.tree(root_id)
  const next = await followUpTasks(deps, { parent_id: owner_id, root_id }, [], {
    task_id,
    as: 'cancelled',
    error,
    decided_by,
  })
  return {
    events: next.parent_events,
    rows: [{ do: 'tree.expect', root_id, version }, ...next.rows],
    also: next.more,
    cancelled: [task_id, ...next.cancelled],
  }
}

/** The task; throws not_found if it does not exist or the principal may not see its session. */
export async function findTask(store: LogStore, principal: Principal, taskId: string): Promise<Task> {
  const task = await store.tasks.get(taskId)
  const missing = new AppError('not_found', `Task ${taskId.slice(0, 128)} not found.`)
  if (task === null) throw missing
  try {
    await findSession(store, principal, task.owner_id)
  } catch (error) {
    throw error instanceof AppError && error.code === 'not_found' ? missing : error
  }
  return task
}

/** A person answers a block, at the task or in the inbox (`item`). */
export async function unblockTask(
  deps: Deps,
  task: Task,
  answer: string,
  principal: Principal,
  item: readonly RowChange[] = closeItem(task, 'unblocked'),
): Promise<void> {
  const { store } = deps
  if (task.status !== 'blocked') throw notBlocked(task)
  const { rows, also } = composeUnblock(task, answer, deciderOf(principal))
  try {
    await store.commit({ session_id: task.owner_id, events: [], rows: [...item, ...rows], also })
  } catch (error) {
    if (!(error instanceof CommitRefused)) throw error
    const now = await store.tasks.get(task.task_id)
    if (now !== null && now.status !== 'blocked') throw notBlocked(now)
    throw refusedAs('unblock a task of', task.owner_id, error)
  }
}

/** A person cancels a task; the owning session gets an event. */
export async function cancelTask(
  deps: Deps,
  { task_id, owner_id }: Task,
  reason: string,
  principal: Principal,
): Promise<void> {
  await commitTree(deps, 'cancel a task of', owner_id, async () => {
    const task = await deps.store.tasks.get(task_id)
    const composed = task === null ? null : await composeCancel(deps, task, reason, deciderOf(principal))
    if (task === null || composed === null) throw isOver(task_id, task)
    const { events, rows, also, cancelled } = composed
    return {
      session_id: owner_id,
      // A task without a worker has no outcome to report, so its cancellation is an event.
      events: [...events, ...(task.status === 'todo' ? [taskCancelledMessage(task, reason, cancelled)] : [])],
      expect_status: TAKES_INPUT,
      reopen: sessionResumed('worker'),
      reopen_from: ['completed'],
      rows,
      also,
    }
  })
}

const taskCancelledMessage = ({ task_id }: Task, reason: string, cancelled: string[]): EventDraft =>
  syntheticMessage(
    'task_cancelled',
    `[Cancelled] The user cancelled the task ${task_id}: ${reason}` +
      `${cancelled.length > 1 ? `\nAlso cancelled: ${cancelled.slice(1).join(', ')}` : ''}`,
    { task_id, metadata: { cancelled_tasks: cancelled } },
  )

const notBlocked = (task: Task): AppError =>
  new AppError('already_answered', `The task ${task.task_id} ${describeTaskStatus(task)}.`, {
    extra: taskDetails(task),
  })
const isOver = (taskId: string, task: Task | null): AppError =>
  new AppError(
    'wrong_state',
    `The task ${taskId} ${task === null ? 'does not exist' : describeTaskStatus(task)}.`,
    { extra: task === null ? {} : taskDetails(task) },
  )

const taskDetails = ({ status, state }: Task): Record<string, unknown> => ({
  task_status: status,
  ...(state.decided_by === undefined ? {} : { decided_by: state.decided_by }),
})

/** The status of a task, and who caused it, in a sentence. */
export function describeTaskStatus({ status, state: { decided_by, error } }: Task): string {
  const who =
    decided_by === undefined
      ? ''
      : '; already decided by ' +
        `${decided_by === null ? 'the session itself' : `${decided_by.kind} ${decided_by.id}`}`
  switch (status) {
    case 'todo':
      return 'has not started'
    case 'running':
      return `is running and has no pending question${who}`
    case 'blocked':
      return 'is waiting for an answer'
    case 'done':
      return 'is done'
    default:
      return `has ended: ${status}${error === undefined ? '' : ` (${error})`}${who}`
  }
}

/** The tasks of a session as the API shows them. */
export async function listTasks(store: LogStore, session: Pick<SessionRow, 'id'>): Promise<TaskView[]> {
  const tasks = await store.tasks.list(session.id)
  return Promise.all(tasks.map(task => viewTask(store, task)))
}

const stamp = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

export async function viewTask(store: LogStore, task: Task): Promise<TaskView> {
  const { state } = task
  const worker = state.worker_id === undefined ? null : await store.sessions.get(state.worker_id)
  // No runner has claimed it yet: none of its log has been handled.
  const isWaiting = worker !== null && worker.cursor === 0 && worker.lease === null
  return {
    task_id: task.task_id,
    session_id: task.owner_id,
    goal: task.goal,
    status: task.status === 'running' && isWaiting ? 'ready' : task.status,
    after: [...task.after],
    attempt_count: task.attempt_count,
    max_attempts: task.max_attempts,
    worker_id: state.worker_id ?? null,
    result: state.result ?? null,
    error: state.error ?? null,
    blocked_reason: task.status === 'blocked' ? (state.blocked_reason ?? null) : null,
    failed_attempts: (state.failed ?? []).map(each => ({ ...each })),
    created_at: stamp(task.created_at) ?? '',
    started_at: stamp(task.started_at),
    ended_at: stamp(task.ended_at),
  }
}
