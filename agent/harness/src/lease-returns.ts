/**
 * Leases of turns that ended because the store failed (contract 8): they are given back as soon as it
 * answers again, so that a disk with space or a database that is back is all a session waits for, and not the
 * rest of its lease.
 */
import type { LogStore } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { type Clock, sleep } from './clock.ts'
import type { Lease } from './lease.ts'
import type { Log } from './log.ts'

export type LeaseReturns = {
  add(lease: Lease, report: Log): void
  /** Resolves when none is left to be given back; after the signal each is tried once more. */
  done(): Promise<void>
}

export function keepReturns(deps: {
  store: Pick<LogStore, 'release'>
  clock: Clock
  everyMs: number
  ttlMs: number
  signal: AbortSignal
}): LeaseReturns {
  const { store, clock, everyMs, ttlMs, signal } = deps
  const running = new Set<Promise<void>>()

  async function giveBack({ session_id, fence }: Lease, report: Log): Promise<void> {
    const until = clock.monotonic() + ttlMs
    let goesOn = true
    while (goesOn && clock.monotonic() < until) {
      goesOn = await sleep(clock, everyMs, signal).then(
        () => true,
        () => false,
      )
      try {
        // Fenced: a lease that went to another worker meanwhile stays there.
        await store.release(session_id, fence)
        return
      } catch (thrown) {
        report('warn', 'giving the lease back failed', { error: asError(thrown).message })
      }
    }
  }

  return {
    add(lease, report) {
      const task = giveBack(lease, report).finally(() => running.delete(task))
      running.add(task)
    },
    async done() {
      await Promise.all(running)
    },
  }
}
