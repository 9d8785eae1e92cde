/** spawn_worker: a separate session that works on a goal while this one continues. */
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool } from '../../tools/tool.ts'
import type { SpawnContext } from './spawn-context.ts'
import { allowedAgents, ChildParameters, composeSpawn, refusedSpawn, spawnProblem } from './spawn.ts'

const Parameters = z.strictObject(ChildParameters)

export const spawnWorkerTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'spawn_worker',
    description:
      'Start a worker: an agent in a separate session that works on one goal in parallel with you, in a ' +
      'copy of your workspace unless isolation says otherwise. You are notified of its result when it ' +
      'ends. Meanwhile you can continue, wait with wait_for_workers, or end your turn. Use it for work ' +
      'that is independent of yours. Each worker pays for its own context. Its result is unverified: check ' +
      `what matters.${describeAgents(place)}`,
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    // The worker is created in the commit of the result, with an id derived from the call.
    idempotent: true,
    run(input, { tool_call_id }) {
      const problem = spawnProblem(place, [input])
      if (problem !== null) return Promise.resolve({ content: { error: problem } })
      const { ids, events, ...linked } = composeSpawn(
        place,
        tool_call_id,
        'worker',
        [input],
        input.isolation ?? 'copy',
      )
      return Promise.resolve({
        content: { worker_id: ids[0], status: 'queued' },
        events,
        linked,
        refused: refusal => {
          const error = refusedSpawn(place, refusal)
          return Promise.resolve(error === null ? null : { content: { error } })
        },
      })
    },
  })

/** The agents that a worker may use, if there is a choice. */
export function describeAgents(place: SpawnContext): string {
  const names = allowedAgents(place)
  if (names.length <= 1) return ''
  const { agents } = place.runner.config
  const lines = names.map(name => `- ${name}: ${agents[name]?.description ?? 'no description'}`)
  return `\nAgents:\n${lines.join('\n')}`
}
