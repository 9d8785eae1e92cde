/** send_worker_message and stop_worker: commands of a session to its running workers. */
import { composeChildEnd, isTreeMoved, syntheticMessage } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import { ownWorker } from './owned.ts'
import type { SpawnContext } from './spawn-context.ts'

const ended = (worker_id: string): ToolOutcome => ({
  content: { error: `worker ${worker_id} has ended; read_worker_result shows its result` },
})

const MessageParameters = z.strictObject({
  worker_id: z.string(),
  message: z.string().trim().min(1).max(20_000),
})

export const sendWorkerMessageTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'send_worker_message',
    description: 'Send a message to a running worker, which reads it before its next step.',
    parameters: MessageParameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    async run({ worker_id, message }) {
      const found = await ownWorker(place, worker_id)
      if ('error' in found) return { content: found }
      if (found.link.status !== 'open') return ended(worker_id)
      return {
        content: { worker_id, status: 'told' },
        linked: {
          also: [
            {
              session_id: worker_id,
              events: [syntheticMessage('worker_message', `The agent you work for says:\n${message}`)],
              expect_status: ['active', 'paused'],
            },
          ],
        },
        refused: ({ refusal }) => Promise.resolve(refusal === 'wrong_status' ? ended(worker_id) : null),
      }
    },
  })

const StopParameters = z.strictObject({ worker_id: z.string(), reason: z.string().trim().min(1).max(500) })

export const stopWorkerTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'stop_worker',
    description: 'Stop a worker and its own workers. Its answers so far are reported as its partial result.',
    parameters: StopParameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    async run({ worker_id, reason }) {
      const found = await ownWorker(place, worker_id)
      return 'error' in found ? { content: found } : composeStop(place, worker_id, reason)
    },
  })

/** Rebuilds and retries the commit while the subtree changes. */
async function composeStop(place: SpawnContext, worker_id: string, reason: string): Promise<ToolOutcome> {
  const { store, clock, newId } = place.runner
  const end = await composeChildEnd(
    { store, now: clock.now, newId },
    worker_id,
    { as: 'failed', cause: 'cancelled', error: `The worker was stopped: ${reason}` },
    'stopped',
  )
  if (end === null) return ended(worker_id)
  return {
    content: { worker_id, status: 'stopped' },
    events: end.parent_events,
    linked: { rows: end.rows, also: end.parts },
    refused: ({ refusal }) =>
      isTreeMoved(refusal) ? composeStop(place, worker_id, reason) : Promise.resolve(null),
  }
}
