/**
 * worker_block: how the worker of a task reports that it cannot continue. Its call waits, no runner holds the
 * session until the answer, and the answer is the call's result.
 */
import type { Link } from '@cairn/log'
import { BLOCK_TOOL, type Block } from '@cairn/state'
import { closeItem, sessionResumed, taskBlocked } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Linked, Tool } from '../../tools/tool.ts'
import type { Position } from '../../turn/position.ts'
import type { SpawnContext } from '../coordination/spawn-context.ts'

const Parameters = z.strictObject({
  reason: z.string().trim().min(1).max(2000).describe('what you need, and why; they read nothing else'),
})

export const workerBlockTool = (place: SpawnContext): Tool =>
  defineTool({
    name: BLOCK_TOOL,
    description:
      'Report that you cannot continue without an answer: a decision, a fact or a permission that you ' +
      'cannot get yourself. The agent you work for is asked. You continue with the answer and lose no work.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    // In the commit of the call: the parent knows of every waiting call, even after a crash.
    beginsLinked: ({ reason }, toolCallId) => blocks(place, toolCallId, String(reason)),
    refusedToBegin: ({ refusal }) =>
      refusal === 'task_moved' ? 'your task already waits for an answer: ask one question at a time' : null,
    run: () => Promise.resolve({ content: '', suspend: 'children' }),
  })

function blocks({ session, link }: SpawnContext, block_call_id: string, blocked_reason: string): Linked {
  const task_id = link?.task_id ?? null
  if (link === null || task_id === null) throw new Error('[worker_block] the session works on no task')
  return {
    rows: [
      {
        do: 'task.move',
        task_id,
        root_id: link.root_id,
        from: ['running'],
        to: 'blocked',
        state: { blocked_reason, block_call_id },
      },
    ],
    also: [
      {
        session_id: link.parent_id,
        events: [taskBlocked({ task_id, worker_id: session.id, reason: blocked_reason, block_call_id })],
        reopen: sessionResumed('worker'),
        reopen_from: ['completed'],
      },
    ],
  }
}

/** What ends a block: the answer, or a person's message to the worker itself. */
export function findAnswer({ tasks: { block }, spoken_id }: Pick<Position, 'tasks' | 'spoken_id'>): {
  block: Block
  by: 'answer' | 'message'
} | null {
  if (block === null) return null
  if (block.answer !== null) return { block, by: 'answer' }
  return spoken_id > block.since ? { block, by: 'message' } : null
}

export const answered = ({ answer }: Block): Record<string, unknown> =>
  answer === null
    ? { status: 'unblocked', note: 'A person has written to you instead: their message follows.' }
    : { status: 'unblocked', answer: answer.text }

/** The guard of an answer by message, and the end of the item that asked a person. */
export function unblockedByMessage(link: Link | null, tool_call_id: string): Linked {
  const task_id = link?.task_id ?? null
  if (link === null || task_id === null || link.status !== 'open') return {}
  const { root_id, parent_id } = link
  return {
    rows: [{ do: 'task.move', task_id, root_id, from: ['blocked'], to: 'running' }],
    also: [
      {
        session_id: parent_id,
        events: [],
        rows: closeItem({ state: { block_call_id: tool_call_id } }, 'unblocked'),
      },
    ],
  }
}
