/** A session that comes to rest with a blocked task has not answered it, so a person is asked. */
import type { RowChange } from '@cairn/log'
import { createTaskBlockedItem } from '@cairn/sessions'
import type { Ending, Resting } from '../../turn/capability.ts'
import { unasked } from './worker-block.ts'

export async function askAboutBlocks({ log, store, newId }: Resting): Promise<Ending> {
  const { id } = log.session()
  const asking = await Promise.all(
    unasked(log.position().tasks).map(async blocked => {
      const task = await store.coordination.task(blocked.task_id)
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
