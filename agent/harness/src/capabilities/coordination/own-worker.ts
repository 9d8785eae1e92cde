/** A worker named by the model, if it belongs to this session. */
import type { Link } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import type { SpawnContext } from './spawn-context.ts'

export async function ownWorker(
  { runner, session }: SpawnContext,
  workerId: string,
): Promise<{ link: Link } | { error: string }> {
  const link = await runner.store.coordination.link(workerId)
  // Workers of other sessions are treated as missing.
  return link === null || link.parent_id !== session.id
    ? {
        error:
          `this session has no worker ${JSON.stringify(cutAt(workerId, 100))}; list_workers shows its ` +
          'workers',
      }
    : { link }
}
