import { expect, test } from 'vitest'
import { type FakeClock, fakeClock } from '../../test/turn/fake-clock.ts'
import { holdLease } from '../turn/lease.ts'
import { createLeaseReleaseRetry } from './lease.ts'

const lease = holdLease('s', { worker_id: 'w', epoch: 3 })

function stage(failures: number) {
  const clock = fakeClock()
  const shutdown = new AbortController()
  const tries: unknown[] = []
  const warnings: string[] = []
  const returns = createLeaseReleaseRetry({
    clock,
    everyMs: 2000,
    ttlMs: 60_000,
    signal: shutdown.signal,
    store: {
      leases: {
        release: (id, fence) => {
          tries.push([id, fence])
          return tries.length <= failures ? Promise.reject(new Error('the disk is full')) : Promise.resolve()
        },
      },
    },
  })
  returns.add(lease, (_, message) => void warnings.push(message))
  return { clock, shutdown, tries, warnings, returns }
}

async function nextTry(clock: FakeClock): Promise<void> {
  await clock.waitsFor(2000)
  clock.advance(2000)
}

test('retries the release of a lease until the store accepts it', async () => {
  const { clock, tries, warnings, returns } = stage(2)
  for (let n = 0; n < 3; n++) await nextTry(clock)
  await returns.done()
  expect(tries).toEqual(Array.from({ length: 3 }, () => ['s', { worker_id: 'w', epoch: 3 }]))
  expect(warnings).toHaveLength(2)
})

test('stops retrying when the lease has expired', async () => {
  const { clock, tries, returns } = stage(Number.POSITIVE_INFINITY)
  for (let n = 0; n < 30; n++) await nextTry(clock)
  await returns.done()
  expect(tries).toHaveLength(30)
})

test('a shutdown tries once more and does not wait', async () => {
  const { shutdown, tries, returns } = stage(Number.POSITIVE_INFINITY)
  shutdown.abort(new Error('the worker shuts down'))
  await returns.done()
  expect(tries).toHaveLength(1)
})
