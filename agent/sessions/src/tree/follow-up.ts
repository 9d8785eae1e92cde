/**
 * What follows at the parent when children end, composed for the commit of that end. For workers: the task
 * itself, another attempt, and tasks that can start now (contract 14.4). For a scheduled run: the state of
 * its schedule, and the next run.
 */
import {
  isTaskOver,
  type Link,
  type LinkedCommit,
  type RowChange,
  type SessionRow,
  type StoreSchedule,
  type Task,
  type TaskState,
} from '@cairn/log'
import { cutAt, type EventDraft } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { RESULT_CHARS, taskFailed } from '../events/coordination.ts'
import { sessionPaused } from '../events/lifecycle.ts'
import { applyDecision } from '../schedules/apply-decision.ts'
import { decideEnded } from '../schedules/decide.ts'
import { LAST_RESULT_CHARS } from '../schedules/schedule.ts'
import { scheduleOf } from '../schedules/schedule-rows.ts'
import { type EndedChild, failureOf, runOf, runResult } from './child-outcome.ts'
import { beginAttempt, planOfTask } from './task-attempt.ts'
import { moveTasks, type TaskEnd } from './task-moves.ts'

export type FollowUp = {
  rows: RowChange[]
  /** Rows for the parent's part of the commit. */
  parent_rows: RowChange[]
  /** Events for the parent's log, after the outcomes. */
  parent_events: EventDraft[]
  /** Sessions to start. */
  more: LinkedCommit[]
  will_retry: boolean
  /** Tasks that depended on a cancelled one. */
  cancelled: string[]
  /** True if it depends on the tasks as read: the commit must carry `tree.expect`. */
  decides: boolean
  /** The parent status that it was composed for; a child that starts under a pause is paused. */
  parent_status?: SessionRow['status']
}

export const noFollowUp = (): FollowUp => ({
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

/** What the end of one worker means for the tasks of its parent. */
export const followUpWorker = (
  deps: Deps,
  child: EndedChild,
  decided_by?: TaskState['decided_by'],
): Promise<FollowUp> => followUpTasks(deps, child.link, [child.session.id], taskEnd(child, decided_by))

/** A child that was ended by a person or an archive is not retried. */
const FINAL: readonly string[] = ['cancelled', 'archived']
const PARTIAL_CHARS = 2000

function taskEnd(child: EndedChild, decided_by: TaskState['decided_by']): TaskEnd | null {
  const { task_id, child_id: worker_id } = child.link
  const { result, metadata } = child.report
  if (task_id === null) return null
  const failure = failureOf(child)
  if (failure === null) return { task_id, as: 'done', result: cutAt(result, RESULT_CHARS), metadata }
  const { cause, error } = failure
  if (FINAL.includes(cause)) return { task_id, as: 'cancelled', error, decided_by }
  const partial = result === '' ? {} : { partial_result: cutAt(result, PARTIAL_CHARS) }
  return { task_id, as: 'attempt_failed', attempt: { worker_id, error, ...partial } }
}

/** `ended` are all children of the parent that the commit ends; `link` belongs to one of them. */
export async function followUpTasks(
  { store, now }: Deps,
  { parent_id, root_id }: Pick<Link, 'parent_id' | 'root_id'>,
  ended: readonly string[],
  end: TaskEnd | null,
): Promise<FollowUp> {
  const tasks = await store.tasks.list(parent_id)
  if (tasks.every(isTaskOver)) return noFollowUp()
  const [parent, mission, open, spawned] = await Promise.all([
    store.sessions.get(parent_id),
    store.missions.current(parent_id),
    store.links.children(parent_id, { open: true }),
    store.links.countSince(root_id, now() - DAY_MS - SLACK_MS),
  ])
  if (parent === null) throw new Error(`[followUpTasks] session ${parent_id} not found`)
  const isPaused = parent.status === 'paused' || mission?.status === 'paused'
  const counts = { open: open.filter(({ child_id }) => !ended.includes(child_id)).length, spawned }
  const { moves, will_retry, failed, cancelled } = moveTasks(tasks, end, counts, planOfTask)
  const result: FollowUp = { ...noFollowUp(), will_retry, cancelled, decides: true }
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
    result.more.push(isPaused ? asPaused(child.part, root_id) : child.part)
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

/** Pending tasks of a session that ends. A running task is cancelled with its child. */
export const cancelPending = (tasks: readonly Task[]): RowChange[] =>
  tasks.flatMap((task): RowChange[] => {
    const { task_id, root_id, status } = task
    if (status === 'blocked') return closeItem(task, 'ended')
    return status === 'todo' ? [{ do: 'task.move', task_id, root_id, from: ['todo'], to: 'cancelled' }] : []
  })

/** The schedule of a run; null if it was deleted. */
export const readScheduleOf = ({ store }: Deps, run: SessionRow): Promise<StoreSchedule | null> =>
  store.schedules.get(runOf(run).schedule_id)

/** What the end of a run means for its schedule: its state, notifications, and a queued run. */
export async function followUpSchedule(
  deps: Deps,
  child: EndedChild,
  row: StoreSchedule | null,
): Promise<FollowUp> {
  const parent = row === null ? null : await deps.store.sessions.get(child.link.parent_id)
  if (row === null || parent === null) return noFollowUp()
  const schedule = scheduleOf(row)
  const { running } = schedule.state
  // The schedule has started another run since.
  if (running?.slot_at !== runOf(child.session).slot_at) return noFollowUp()
  const { outcome, text } = runResult(child)
  const decision = decideEnded(schedule, running, outcome, cutAt(text, LAST_RESULT_CHARS), deps.now())
  const { rows, events, parts } = applyDecision(deps, parent, row, decision)
  return { ...noFollowUp(), parent_rows: rows, parent_events: events, more: parts }
}
