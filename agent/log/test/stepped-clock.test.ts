/**
 * The clock is set while the embedded store runs (contract 8.2): a lease lasts its full time, whatever the
 * date is.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { expect, onTestFinished, test } from 'vitest'
import { CLOCK_STEPS_MS } from '@cairn/protocol/test/clock-steps'
import { claimOne, makeClock, thought } from './conformance/fixture.ts'

const LEASE_MS = 60_000

/** Promise 8.2: A lease of the embedded store lasts its full time even if the clock is set. */
test.each(CLOCK_STEPS_MS)(
  'a lease neither ends nor lasts longer when the clock is set by %d ms',
  async step => {
    const dir = await mkdtemp(join(tmpdir(), 'cairn-stepped-'))
    onTestFinished(() => rm(dir, { recursive: true, force: true }))
    const clock = makeClock()
    const store = await openSqliteStore({ dir, now: clock.now, monotonic: clock.monotonic })
    onTestFinished(() => store.close())
    const { fence } = await claimOne(store, 's', 'holder', LEASE_MS)
    const others = () => store.leases.claim('other', 1, LEASE_MS)

    clock.step(step)
    expect(await others()).toEqual([])
    expect(await store.leases.renew('holder', [{ session_id: 's', epoch: fence.epoch }], LEASE_MS)).toEqual(
      [],
    )
    await store.commit({ session_id: 's', fence, events: [thought('still mine')] })

    // Set back: the renewal does not depend on the date either.
    clock.step(-step)
    clock.advance(LEASE_MS - 1)
    expect(await others()).toEqual([])
    clock.step(step)
    clock.advance(1)
    expect(await others()).toMatchObject([{ session: { id: 's' }, abandoned_s: LEASE_MS / 1000 }])
  },
)
