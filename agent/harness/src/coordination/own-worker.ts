/** A worker that the model named, if it is one of this session's. */
import type { Link } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import type { SpawnContext } from './spawn-context.ts'

export async function ownWorker(
  { runner, session }: SpawnContext,
  workerId: string,
): Promise<{ link: Link } | { error: string }> {
  const link = await runner.store.coordination.link(workerId)
  // Those of others do not exist here.
  return link === null || link.parent_id !== session.id
    ? {
        error:
          `this session has no worker ${JSON.stringify(cutAt(workerId, 100))}; list_workers shows those ` +
          'there are',
      }
    : { link }
}
