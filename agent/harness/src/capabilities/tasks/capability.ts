/**
 * Tasks as a row of the capabilities: the tools that create, list and control them, and the question to a
 * person about a task that its owner has left blocked.
 */
import type { RowChange } from '@cairn/log'
import { createTaskBlockedItem } from '@cairn/sessions'
import type { Tasks } from '@cairn/state'
import { agentOf } from '../../governance/agent.ts'
import type { Capability, Claimed, Ending, Resting } from '../../turn/capability.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { createSpawnContext } from '../coordination/spawn-context.ts'
import { spawnTaskTool } from './spawn-task.ts'
import { cancelTaskTool, listTasksTool, unblockTaskTool } from './task-commands.ts'

export const tasks = (runner: RunnerDeps, claimed: Claimed): Capability => ({
  name: 'tasks',
  onEnd: askAboutBlocks,
  onRest: askAboutBlocks,
  tools() {
    const place = createSpawnContext(runner, claimed, agentOf(runner.config, claimed.session))
    return place.maySpawn
      ? [spawnTaskTool(place), listTasksTool(place), unblockTaskTool(place), cancelTaskTool(place)]
      : []
  },
})

/** A session that comes to rest with a blocked task has not answered it, so a person is asked. */
async function askAboutBlocks({ log, store, newId }: Resting): Promise<Ending> {
  const { id } = log.session()
  const asking = await Promise.all(
    unasked(log.position().tasks).map(async blocked => {
      const task = await store.tasks.get(blocked.task_id)
      // A person's answer is not written to this log, so check the task.
      const waits = task?.status === 'blocked' && task.state.block_call_id === blocked.block_call_id
      return waits && task.owner_id === id ? [{ blocked, root_id: task.root_id }] : []
    }),
  )
  return {
    after: asking.flat().map(({ blocked }) => createTaskBlockedItem({ newId }, blocked).event),
    // Guard: if the task is answered at this moment, no person is asked.
    rows: asking.flat().map(({ blocked: { task_id }, root_id }): RowChange => ({
      do: 'task.move',
      task_id,
      root_id,
      from: ['blocked'],
      to: 'blocked',
    })),
  }
}

/** Blocks of this session's own tasks that no person was asked about yet. */
const unasked = ({ blocked }: Tasks): Tasks['blocked'] => blocked.filter(({ asked }) => !asked)
