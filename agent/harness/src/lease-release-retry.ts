/**
 * Leases of turns that ended because the store failed (contract 8). They are released as soon as it answers
 * again, so that sessions wait only for the disk or database to recover, and not for the rest of their
 * leases.
 */
import type { LogStore } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { type Clock, sleep } from '@cairn/models/clock'
import type { Lease } from './lease.ts'
import type { Logger } from '@cairn/models/logger'

export type LeaseReleaseRetry = {
  add(lease: Lease, report: Logger): void
  /** Resolves when all are released; after the signal each is tried once more. */
  done(): Promise<void>
}

export function createLeaseReleaseRetry(deps: {
  store: Pick<LogStore, 'release'>
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
        // Fenced: a lease that another runner has claimed meanwhile stays with it.
        await store.release(session_id, fence)
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
