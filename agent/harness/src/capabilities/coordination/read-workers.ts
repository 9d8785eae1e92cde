/** list_workers and read_worker_result: what the workers of a session do, and their outcomes. */
import type { Link } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import { reportOf } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import { ownWorker } from './owned.ts'
import type { SpawnContext } from './spawn-context.ts'

const SHOWN = 50
const PAGE_CHARS = 10_000

const ListParameters = z.strictObject({})

export const listWorkersTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'list_workers',
    description: 'List the workers of this session with their goals and states.',
    parameters: ListParameters,
    readOnly: true,
    idempotent: true,
    async run() {
      const links = await place.runner.store.links.children(place.session.id)
      const workers = await Promise.all(links.slice(-SHOWN).map(link => describe(place, link)))
      const older = links.length - workers.length
      return { content: { workers, ...(older > 0 ? { older } : {}) } }
    },
  })

async function describe({ runner }: SpawnContext, link: Link): Promise<Record<string, unknown>> {
  const row = await runner.store.sessions.get(link.child_id)
  return {
    worker_id: link.child_id,
    goal: row?.title ?? '',
    agent: row?.agent ?? '',
    status: link.status === 'open' ? (row?.state ?? 'running') : link.status,
    ...(link.cause === null ? {} : { cause: link.cause }),
  }
}

const ReadParameters = z.strictObject({
  worker_id: z.string(),
  offset: z.int().min(0).default(0).describe('where to continue: next_offset of the previous call'),
})

export const readWorkerResultTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'read_worker_result',
    description: 'Read the full result of a worker that has ended, one part at a time.',
    parameters: ReadParameters,
    readOnly: true,
    idempotent: true,
    async run({ worker_id, offset }) {
      const found = await ownWorker(place, worker_id)
      if ('error' in found) return { content: found }
      const { link } = found
      const { store, clock } = place.runner
      const child = await store.sessions.get(worker_id)
      if (child === null || link.status === 'open')
        return { content: { error: `worker ${worker_id} is still running; wait_for_workers waits for it` } }
      const { result } = await reportOf(store, child, link, clock.now())
      if (offset > result.length)
        return {
          content: {
            error: `offset ${offset} is past the end of the result, which has ${result.length} characters`,
          },
        }
      const text = cutAt(result.slice(offset), PAGE_CHARS)
      const next_offset = offset + text.length
      return {
        content: {
          worker_id,
          status: link.status,
          result: text,
          ...(next_offset < result.length ? { next_offset, total: result.length } : {}),
        },
      }
    },
  })
