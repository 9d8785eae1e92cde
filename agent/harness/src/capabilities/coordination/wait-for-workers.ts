/** wait_for_workers: the turn rests until workers have ended; no runner holds the session during the wait. */
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

/** Maximum characters of all results, divided equally; read_worker_result returns the rest. */
const RESULTS_CHARS = 40_000

/**
 * The result of a call that waited for its workers, from the log alone, so that any runner writes the same.
 */
export function joined({ ids, settled }: Wait): Record<string, unknown> {
  const share = Math.floor(RESULTS_CHARS / Math.max(1, ids.length))
  const workers = ids.map(worker_id => {
    const outcome = settled.find(each => each.worker_id === worker_id)
    if (outcome === undefined) return { worker_id, status: 'unknown' }
    const files = outcome.files_written.length > 0 ? { files_written: [...outcome.files_written] } : {}
    if (outcome.status === 'failed')
      return {
        worker_id,
        status: 'failed',
        cause: outcome.cause,
        error: outcome.error,
        ...(outcome.partial_result === undefined ? {} : { partial_result: outcome.partial_result }),
        ...files,
      }
    const result = cutAt(outcome.result, share)
    return {
      worker_id,
      status: 'complete',
      result,
      ...(outcome.truncated === true || result !== outcome.result ? { truncated: true } : {}),
      ...files,
    }
  })
  return { workers }
}

/** Measured to the end of the last worker, so that every runner writes the same duration. */
export const elapsedOf = ({ at, settled }: Wait, now: number): number =>
  Math.max(
    1,
    Math.max(...settled.map(each => Date.parse(each.at)), settled.length > 0 ? 0 : now) - Date.parse(at),
  )
