/** A task that the model named, if it is one of this session's. */
import type { Task } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import type { SpawnContext } from './spawn-context.ts'

export async function ownTask(
  { runner, session }: SpawnContext,
  taskId: string,
): Promise<{ task: Task } | { error: string }> {
  const task = await runner.store.coordination.task(taskId)
  // Those of others do not exist here.
  return task === null || task.owner_id !== session.id
    ? {
        error:
          `this session has no task ${JSON.stringify(cutAt(taskId, 100))}; ` +
          'list_tasks shows those there are',
      }
    : { task }
}
