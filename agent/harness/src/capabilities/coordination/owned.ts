/**
 * A worker or a task that the model names, if it belongs to this session; those of others count as missing.
 */
import type { Link, Task } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import type { SpawnContext } from './spawn-context.ts'

export async function ownWorker(
  { runner, session }: SpawnContext,
  workerId: string,
): Promise<{ link: Link } | { error: string }> {
  const link = await runner.store.links.get(workerId)
  return link === null || link.parent_id !== session.id
    ? {
        error:
          `this session has no worker ${JSON.stringify(cutAt(workerId, 100))}; list_workers shows its ` +
          'workers',
      }
    : { link }
}

export async function ownTask(
  { runner, session }: SpawnContext,
  taskId: string,
): Promise<{ task: Task } | { error: string }> {
  const task = await runner.store.tasks.get(taskId)
  return task === null || task.owner_id !== session.id
    ? {
        error: `this session has no task ${JSON.stringify(cutAt(taskId, 100))}; list_tasks shows its tasks`,
      }
    : { task }
}
