/**
 * Leases while they are held: renewed, ended as soon as the session belongs to another runner, and released
 * (contract 8).
 */
import type { LogStore } from '@cairn/log'
import { type Clock, sleep } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import { AppError, asError } from '@cairn/protocol'
import { Draining, type Lease, LeaseLost } from '../turn/lease.ts'

/** Renews the held leases; ends those that another runner has claimed. */
export async function renewLeases(
  store: Pick<LogStore, 'leases'>,
  runnerId: string,
  held: readonly Lease[],
  ttlMs: number,
): Promise<void> {
  if (held.length === 0) return
  const lost = await store.leases.renew(
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
        const found = await store.leases.get(lease.session_id)
        const held = found?.lease
        if (held?.epoch !== lease.fence.epoch || held.worker_id !== lease.fence.worker_id)
          lease.end(
            new LeaseLost(
              `the session is ${found?.status ?? 'gone'} and its lease is no longer held by this runner`,
            ),
          )
      }
    } catch (error) {
      // The next notification or renewal checks again, and until then the fence rejects stale writes.
      report('warn', 'lease check failed', { error: asError(error).message })
    } finally {
      polling = false
    }
  }
  return store.events.watch(lease.session_id, epoch => {
    // Most growth is the runner's own and does not change the lease.
    if (epoch !== lease.fence.epoch) void poll()
  })
}

/** A store that does not answer must not end the process: the lease expires by itself. */
export const releaseLease = (
  store: { leases: Pick<LogStore['leases'], 'release'> },
  lease: Lease,
  report: Logger,
): Promise<void> =>
  store.leases
    .release(lease.session_id, lease.fence)
    .catch((error: unknown) => report('warn', 'lease release failed', { error: asError(error).message }))

/**
 * The run of a session ended with this error. The lease is kept, so that no runner hits the same error again
 * before it expires, unless it was the store's error.
 */
export function abandon(
  lease: Lease,
  error: unknown,
  releaseRetry: Pick<LeaseReleaseRetry, 'add'>,
  report: Logger,
): void {
  const { reason } = lease.signal
  if (error instanceof LeaseLost || reason instanceof LeaseLost)
    report('info', 'lease lost', { why: asError(reason ?? error).message })
  else if (!(reason instanceof Draining)) {
    report('error', 'session abandoned after an error', { error: asError(error).stack })
    if (error instanceof AppError && error.code === 'storage') releaseRetry.add(lease, report)
  }
}

/**
 * Releases the leases of turns that ended because the store failed, as soon as it answers again, so that
 * sessions wait only for the disk or database to recover, and not for the rest of their leases.
 */
export type LeaseReleaseRetry = {
  add(lease: Lease, report: Logger): void
  /** Resolves when all are released; after the signal each is tried once more. */
  done(): Promise<void>
}

export function createLeaseReleaseRetry(deps: {
  store: { leases: Pick<LogStore['leases'], 'release'> }
  clock: Clock
  everyMs: number
  ttlMs: number
  signal: AbortSignal
}): LeaseReleaseRetry {
  const { store, clock, everyMs, ttlMs, signal } = deps
  const running = new Set<Promise<void>>()

  async function release({ session_id, fence }: Lease, report: Logger): Promise<void> {
    const until = clock.monotonic() + ttlMs
    let goesOn = true
    while (goesOn && clock.monotonic() < until) {
      goesOn = await sleep(clock, everyMs, signal).then(
        () => true,
        () => false,
      )
      try {
        // The fence protects a lease that another runner has claimed since.
        await store.leases.release(session_id, fence)
        return
      } catch (error) {
        report('warn', 'lease release failed', { error: asError(error).message })
      }
    }
  }

  return {
    add(lease, report) {
      const task = release(lease, report).finally(() => running.delete(task))
      running.add(task)
    },
    async done() {
      await Promise.all(running)
    },
  }
}
