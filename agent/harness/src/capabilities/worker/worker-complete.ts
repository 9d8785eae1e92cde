/** worker_complete: how a worker reports its result. It ends the turn without another model call. */
import { ACCEPTED, COMPLETE_TOOL, isAccepted } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Position } from '../../turn/position.ts'
import type { SpawnContext } from '../coordination/spawn-context.ts'

const Parameters = z.strictObject({
  summary: z.string().trim().min(1).max(100_000),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('facts for a program, at most 4 KB of JSON'),
})

export const workerCompleteTool = (place: SpawnContext): Tool =>
  defineTool({
    name: COMPLETE_TOOL,
    description:
      'Report that your work is done. The agent you work for reads only the summary: put everything that ' +
      'it needs there. Call it once, as your last call.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run({ metadata }) {
      const { open } = place.claimed.log.position().children
      if (open.length > 0)
        return Promise.resolve({
          content: {
            error:
              `${open.length} of your own workers are still running ` +
              `(${open.map(({ worker_id }) => worker_id).join(', ')}): wait for them with ` +
              'wait_for_workers, or stop them',
          },
        })
      const size = metadata === undefined ? 0 : JSON.stringify(metadata).length
      return Promise.resolve(
        size > 4096
          ? { content: { error: `the metadata has ${size} characters of JSON; at most 4096 are allowed` } }
          : { content: { ...ACCEPTED } },
      )
    },
  })

/** Whether the last entry of the conversation is the accepted result, with no message after it. */
export function hasCompleted({ conversation, turn }: Position): boolean {
  const last = (conversation.deferred.at(-1) ?? conversation.entries.at(-1))?.message
  if (last?.role !== 'tool' || !isAccepted(last.content)) return false
  return turn.calls.some(call => call.tool_call_id === last.tool_call_id && call.name === COMPLETE_TOOL)
}
