/**
 * What matters of tasks for a session's next step, as a fold of its log: which of its own tasks wait for an
 * answer, and, for a worker on a task, its own block.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

/** `action_type` of the inbox item that asks a person to answer a blocked task. */
export const TASK_BLOCKED = 'task_blocked'
/** The tool with which a worker reports that its task is blocked; it waits from its tool.call on. */
export const BLOCK_TOOL = 'worker_block'
/** Default maximum number of attempts. */
export const DEFAULT_ATTEMPTS = 3

/** A task of this session when it reported its block; it is not reported again once a person answered it. */
export type BlockedTask = {
  readonly task_id: string
  readonly worker_id: string
  readonly block_call_id: string
  readonly reason: string
  /** A person was asked. */
  readonly asked: boolean
}
/** This session's own call that waits for an answer. */
export type Block = {
  readonly tool_call_id: string
  readonly since: EventId
  /** RFC 3339. */
  readonly at: string
  readonly answer: { readonly text: string; readonly at: string } | null
}
export type Tasks = { readonly blocked: readonly BlockedTask[]; readonly block: Block | null }
export const noTasks: Tasks = { blocked: [], block: null }

export function foldTasks(tasks: Tasks, event: SessionEvent): Tasks {
  switch (event.type) {
    case 'task.blocked': {
      const { task_id, worker_id, block_call_id, reason } = event.data
      const others = tasks.blocked.filter(each => each.worker_id !== worker_id)
      return { ...tasks, blocked: [...others, { task_id, worker_id, block_call_id, reason, asked: false }] }
    }
    case 'inbox.action_required': {
      const { action_type, tool_call_id } = event.data
      return action_type === TASK_BLOCKED
        ? {
            ...tasks,
            blocked: tasks.blocked.map(each =>
              each.block_call_id === tool_call_id ? { ...each, asked: true } : each,
            ),
          }
        : tasks
    }
    case 'worker.complete':
    case 'worker.failed': {
      const { worker_id } = event.data
      return tasks.blocked.some(each => each.worker_id === worker_id)
        ? { ...tasks, blocked: tasks.blocked.filter(each => each.worker_id !== worker_id) }
        : tasks
    }
    case 'tool.call': {
      const { name, tool_call_id } = event.data
      // A second parallel call is refused.
      return name === BLOCK_TOOL && tasks.block === null
        ? { ...tasks, block: { tool_call_id, since: event.id, at: event.created_at, answer: null } }
        : tasks
    }
    case 'user.message': {
      const { synthetic, tool_call_id, content } = event.data
      const { block } = tasks
      return synthetic === 'task_unblocked' && block !== null && block.tool_call_id === tool_call_id
        ? { ...tasks, block: { ...block, answer: { text: content, at: event.created_at } } }
        : tasks
    }
    case 'tool.result':
      return tasks.block?.tool_call_id === event.data.tool_call_id ? { ...tasks, block: null } : tasks
    default:
      return tasks
  }
}
