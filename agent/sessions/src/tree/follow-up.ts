/**
 * Effects of ended children on their parent's tasks, composed for the commit of that end: the task itself,
 * another attempt, and tasks that can start now (contract 14.4).
 */
import {
  isTaskOver,
  type Link,
  type LinkedCommit,
  type RowChange,
  type SessionRow,
  type Task,
} from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import { taskFailed } from '../events/coordination.ts'
import type { Deps } from '../deps.ts'
import { sessionPaused } from '../events/lifecycle.ts'
import { beginAttempt, planOfTask } from './task-attempt.ts'
import { moveTasks, type TaskEnd } from './task-moves.ts'

export type FollowUp = {
  rows: RowChange[]
  /** Rows for the parent's part of the commit. */
  parent_rows: RowChange[]
  /** Events for the parent's log, after the outcomes. */
  parent_events: EventDraft[]
  /** Children to start. */
  more: LinkedCommit[]
  will_retry: boolean
  /** Tasks that depended on a cancelled one. */
  cancelled: string[]
  /** True if it depends on the tasks as read: the commit must carry `tree.expect`. */
  decides: boolean
  /** The parent status that it was composed for; a child that starts under a pause is paused. */
  parent_status?: SessionRow['status']
}

const nothing = (): FollowUp => ({
  rows: [],
  parent_rows: [],
  parent_events: [],
  more: [],
  will_retry: false,
  cancelled: [],
  decides: false,
})
const DAY_MS = 24 * 3600 * 1000
/**
 * Allowance for clock differences between processes: starting a child too few is better than a rejected
 * commit.
 */
const SLACK_MS = 3600 * 1000

/** `ended` are all children of the parent that the commit ends; `link` belongs to one of them. */
export async function followUp(
  { store, now }: Deps,
  { parent_id, root_id }: Pick<Link, 'parent_id' | 'root_id'>,
  ended: readonly string[],
  end: TaskEnd | null,
): Promise<FollowUp> {
  const { coordination } = store
  const tasks = await coordination.tasks(parent_id)
  if (tasks.every(isTaskOver)) return nothing()
  const [parent, mission, open, spawned] = await Promise.all([
    store.getSession(parent_id),
    coordination.missionOf(parent_id),
    coordination.children(parent_id, { open: true }),
    coordination.spawnedSince(root_id, now() - DAY_MS - SLACK_MS),
  ])
  if (parent === null) throw new Error(`[followUp] session ${parent_id} not found`)
  const isHeld = parent.status === 'paused' || mission?.status === 'paused'
  const places = { open: open.filter(({ child_id }) => !ended.includes(child_id)).length, spawned }
  const { moves, will_retry, failed, cancelled } = moveTasks(tasks, end, places, planOfTask)
  const result: FollowUp = { ...nothing(), will_retry, cancelled, decides: true }
  for (const { task, error, cancelled: gone } of failed)
    result.parent_events.push(
      taskFailed({
        task_id: task.task_id,
        attempt_count: task.attempt_count,
        error,
        cancelled_tasks: gone,
      }),
    )
  const results = new Map(
    moves.flatMap(({ task, state }) => (state.result === undefined ? [] : [[task.task_id, state.result]])),
  )
  const known = tasks.map(task => ({ ...task, result: results.get(task.task_id) ?? task.state.result }))
  for (const { task, to, state, attempt } of moves) {
    const move = { do: 'task.move', task_id: task.task_id, root_id, from: [task.status], to } as const
    // The worker that waited for an answer has ended.
    if (task.status === 'blocked') result.parent_rows.push(...closeItem(task, 'ended'))
    if (attempt === undefined) {
      result.rows.push({ ...move, state })
      continue
    }
    const child = beginAttempt(
      parent,
      root_id,
      { ...task, state: { ...task.state, ...state } },
      attempt,
      known.filter(({ task_id }) => task.after.includes(task_id)),
    )
    const worker_id = child.part.session_id
    result.rows.push({ ...move, attempt_count: attempt, state: { ...state, worker_id } }, child.row)
    result.parent_events.push(child.event)
    result.more.push(isHeld ? asPaused(child.part, root_id) : child.part)
  }
  return result.more.length > 0 ? { ...result, parent_status: parent.status } : result
}

/** Closes the inbox item about a task's block; for the part of the task's owner. */
export const closeItem = (
  { state: { block_call_id } }: Pick<Task, 'state'>,
  decision: string,
): RowChange[] =>
  block_call_id === undefined
    ? []
    : [{ do: 'inbox.expire_call', tool_call_id: block_call_id, kind: 'action_required', decision }]

const asPaused = (part: LinkedCommit, root_id: string): LinkedCommit => ({
  ...part,
  events: [...part.events, sessionPaused('parent_paused')],
  rows: [
    ...(part.rows ?? []),
    { do: 'link.mark', child_id: part.session_id, root_id, paused_by_parent: true },
  ],
})
