/** Leases while they are held: renewed, and ended as soon as the session belongs to another runner. */
import type { LogStore } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { type Lease, LeaseLost } from './lease.ts'
import type { Logger } from '@cairn/models/logger'

/** Renews the held leases; ends those that another runner has claimed. */
export async function renewLeases(
  store: Pick<LogStore, 'renew'>,
  runnerId: string,
  held: readonly Lease[],
  ttlMs: number,
): Promise<void> {
  if (held.length === 0) return
  const lost = await store.renew(
    runnerId,
    held.map(({ session_id, fence }) => ({ session_id, epoch: fence.epoch })),
    ttlMs,
  )
  for (const lease of held)
    if (lost.includes(lease.session_id)) lease.end(new LeaseLost('another runner took over the lease'))
}

/**
 * Ends the lease's signal as soon as the session belongs to someone else: a pause and a stop take the lease
 * in their own commit. Returns a function that stops watching.
 */
export function watchLease(store: LogStore, lease: Lease, report: Logger): () => void {
  let polling = false
  let again = false
  async function poll(): Promise<void> {
    again = true
    if (polling) return
    polling = true
    try {
      while (again && !lease.signal.aborted) {
        again = false
        const found = await store.leaseOf(lease.session_id)
        const held = found?.lease
        if (held?.epoch !== lease.fence.epoch || held.worker_id !== lease.fence.worker_id)
          lease.end(
            new LeaseLost(
              `the session is ${found?.status ?? 'gone'} and its lease is no longer held by this runner`,
            ),
          )
      }
    } catch (error) {
      // The next notification or renewal checks again, and the fence guards every write meanwhile.
      report('warn', 'lease check failed', { error: asError(error).message })
    } finally {
      polling = false
    }
  }
  return store.watch(lease.session_id, epoch => {
    // Most growth is the runner's own and does not change the lease.
    if (epoch !== lease.fence.epoch) void poll()
  })
}
