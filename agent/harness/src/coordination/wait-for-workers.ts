/** wait_for_workers: the turn rests until workers have ended; nobody holds the session meanwhile. */
import { type Wait, WAIT_TOOL } from '@cairn/state'
import { z } from 'zod'
import { defineTool } from '../tools/parameters.ts'
import type { Tool } from '../tools/tool.ts'
import { ownWorker } from './own-worker.ts'
import type { Place } from './place.ts'

const Parameters = z.strictObject({
  ids: z.array(z.string()).max(64).optional().describe('worker ids; absent: all that are at work'),
})

export const waitForWorkersTool = (place: Place): Tool =>
  defineTool({
    name: WAIT_TOOL,
    description:
      'Wait until workers have ended. Their results come as messages of their own. A message of the ' +
      'user ends the waiting, and the workers go on.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    async run({ ids = [] }) {
      const found = await Promise.all(ids.map(id => ownWorker(place, id)))
      const unknown = found.find(each => 'error' in each)
      if (unknown !== undefined) return { content: unknown }
      const { open } = place.claimed.log.position().children
      const waited = open.filter(({ worker_id }) => ids.length === 0 || ids.includes(worker_id))
      if (waited.length > 0) return { content: '', suspend: 'children' }
      return { content: await describeEnded(place, ids) }
    },
  })

/** What a call that waited comes to when all have ended. */
export const waitOver = (place: Place, { ids }: Wait): Promise<Record<string, unknown>> =>
  describeEnded(place, ids)

async function describeEnded(place: Place, ids: readonly string[]): Promise<Record<string, unknown>> {
  if (ids.length === 0) return { workers: [], note: 'No worker is at work.' }
  const workers = await Promise.all(
    ids.map(async worker_id => {
      const found = await ownWorker(place, worker_id)
      return 'error' in found
        ? { worker_id, status: 'unknown' }
        : {
            worker_id,
            status: found.link.status,
            ...(found.link.cause === null ? {} : { cause: found.link.cause }),
          }
    }),
  )
  return {
    workers,
    note: 'Their results are messages of this conversation; read_worker_result shows one in full.',
  }
}
