/** list_tasks, unblock_task and cancel_task: the status of a session's tasks, and commands to them. */
import {
  closeItem,
  composeCancel,
  composeUnblock,
  describeTaskStatus,
  isTreeMoved,
  listTasks,
} from '@cairn/sessions'
import { CANCEL_TASK_TOOL, UNBLOCK_TASK_TOOL } from '@cairn/state'
import { cutAt } from '@cairn/protocol'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import { ownTask } from '../coordination/owned.ts'
import type { SpawnContext } from '../coordination/spawn-context.ts'

const SHOWN = 50
const GOAL_CHARS = 200

const ListParameters = z.strictObject({})

export const listTasksTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'list_tasks',
    description: 'List the tasks of this session with their goals, dependencies and states.',
    parameters: ListParameters,
    readOnly: true,
    idempotent: true,
    async run() {
      const all = await listTasks(place.runner.store, place.session)
      const tasks = all.slice(-SHOWN).map(task => ({
        task_id: task.task_id,
        goal: cutAt(task.goal, GOAL_CHARS),
        status: task.status,
        ...(task.after.length === 0 ? {} : { after: task.after }),
        attempt: `${task.attempt_count} of ${task.max_attempts}`,
        ...(task.worker_id === null ? {} : { worker_id: task.worker_id }),
        ...(task.blocked_reason === null ? {} : { blocked_reason: task.blocked_reason }),
        ...(task.error === null ? {} : { error: cutAt(task.error, 500) }),
      }))
      const older = all.length - tasks.length
      return { content: { tasks, ...(older > 0 ? { older } : {}) } }
    },
  })

const UnblockParameters = z.strictObject({
  task_id: z.string(),
  answer: z.string().trim().min(1).max(20_000),
})

export const unblockTaskTool = (place: SpawnContext): Tool =>
  defineTool({
    name: UNBLOCK_TASK_TOOL,
    description: 'Answer a blocked task: its worker continues with your answer.',
    parameters: UnblockParameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run: ({ task_id, answer }) => unblock(place, task_id, answer),
  })

async function unblock(place: SpawnContext, task_id: string, answer: string): Promise<ToolOutcome> {
  const found = await ownTask(place, task_id)
  if ('error' in found) return { content: found }
  const { task } = found
  if (task.status !== 'blocked') return { content: { error: `task ${task_id} ${describeTaskStatus(task)}` } }
  const { rows, also } = composeUnblock(task, answer, null)
  return {
    content: { task_id, status: 'running' },
    linked: { rows: [...closeItem(task, 'unblocked'), ...rows], also },
    // Another answer came first: report that.
    refused: ({ refusal }) =>
      refusal === 'task_moved' || refusal === 'already_answered' || refusal === 'wrong_status'
        ? unblock(place, task_id, answer)
        : Promise.resolve(null),
  }
}

const CancelParameters = z.strictObject({ task_id: z.string(), reason: z.string().trim().min(1).max(500) })

export const cancelTaskTool = (place: SpawnContext): Tool =>
  defineTool({
    name: CANCEL_TASK_TOOL,
    description: 'Cancel a task: its worker is stopped, and all tasks that depend on it are cancelled.',
    parameters: CancelParameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run: ({ task_id, reason }) => cancel(place, task_id, reason),
  })

/** Rebuilds and retries the commit while the tasks change. */
async function cancel(place: SpawnContext, task_id: string, reason: string): Promise<ToolOutcome> {
  const { store, clock, newId } = place.runner
  const found = await ownTask(place, task_id)
  if ('error' in found) return { content: found }
  const composed = await composeCancel({ store, now: clock.now, newId }, found.task, reason, null)
  if (composed === null) return { content: { error: `task ${task_id} ${describeTaskStatus(found.task)}` } }
  const { events, rows, also, cancelled } = composed
  return {
    content: { task_id, status: 'cancelled', cancelled },
    events,
    linked: { rows, also },
    refused: ({ refusal }) => (isTreeMoved(refusal) ? cancel(place, task_id, reason) : Promise.resolve(null)),
  }
}
