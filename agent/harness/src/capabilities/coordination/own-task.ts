/** A task named by the model, if it belongs to this session. */
import type { Task } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import type { SpawnContext } from './spawn-context.ts'

export async function ownTask(
  { runner, session }: SpawnContext,
  taskId: string,
): Promise<{ task: Task } | { error: string }> {
  const task = await runner.store.coordination.task(taskId)
  // Tasks of other sessions are treated as missing.
  return task === null || task.owner_id !== session.id
    ? {
        error: `this session has no task ${JSON.stringify(cutAt(taskId, 100))}; list_tasks shows its tasks`,
      }
    : { task }
}
