/** wait_for_workers: the turn rests until workers have ended; no runner holds the session meanwhile. */
import { type Wait, WAIT_TOOL } from '@cairn/state'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import { cutAt } from '@cairn/protocol'
import { ownTask, ownWorker } from './owned.ts'
import type { SpawnContext } from './spawn-context.ts'

const Parameters = z.strictObject({
  ids: z.array(z.string()).max(64).optional().describe('ids of workers and tasks; default: all'),
})

export const waitForWorkersTool = (place: SpawnContext): Tool =>
  defineTool({
    name: WAIT_TOOL,
    description:
      'Wait until workers and tasks have ended. Their results arrive as separate messages. A message from ' +
      'the user ends the wait, and the workers continue; so does a blocked task, which waits for your ' +
      'answer.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    async run({ ids = [] }) {
      const found = await Promise.all(ids.map(id => findWaited(place, id)))
      const unknown = found.findIndex(each => each === null)
      if (unknown !== -1)
        return { content: { error: `this session has no worker or task ${quoted(ids[unknown])}` } }
      const { open, todo } = place.claimed.log.position().children
      const isWaited = (id: string | undefined): boolean =>
        id !== undefined && (ids.length === 0 || ids.includes(id))
      const waits =
        open.some(({ worker_id, task_id }) => isWaited(worker_id) || isWaited(task_id)) || todo.some(isWaited)
      if (waits) return { content: '', suspend: 'children' }
      return { content: await describeEnded(place, ids, []) }
    },
  })

/** The result of a waiting call when all have ended. */
export const waitOver = (place: SpawnContext, { ids, tasks }: Wait): Promise<Record<string, unknown>> =>
  describeEnded(place, ids, tasks)

const quoted = (id = ''): string => `${JSON.stringify(cutAt(id, 100))}; list_workers and list_tasks show them`

async function findWaited(place: SpawnContext, id: string): Promise<Record<string, unknown> | null> {
  const worker = await ownWorker(place, id)
  if ('link' in worker) {
    const { status, cause } = worker.link
    return { worker_id: id, status, ...(cause === null ? {} : { cause }) }
  }
  const found = await ownTask(place, id)
  return 'error' in found ? null : { task_id: id, status: found.task.status }
}

async function describeEnded(
  place: SpawnContext,
  ids: readonly string[],
  tasks: readonly string[],
): Promise<Record<string, unknown>> {
  if (ids.length + tasks.length === 0) return { workers: [], note: 'No worker is running.' }
  const found = await Promise.all([...ids, ...tasks].map(id => findWaited(place, id)))
  const known = found.filter(each => each !== null)
  const waited = known.filter(each => 'task_id' in each)
  return {
    workers: known.filter(each => 'worker_id' in each),
    ...(waited.length > 0 ? { tasks: waited } : {}),
    note: 'Their results are messages of this conversation; read_worker_result shows one in full.',
  }
}
