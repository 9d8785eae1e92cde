/** Leases and work: at most one runner acts for a session, and no work is lost. */
import { expect, test } from 'vitest'
import {
  answered,
  claimOne,
  complete,
  expectTold,
  newSession,
  once,
  pause,
  refused,
  resume,
  sagaComplete,
  sagaStart,
  say,
  thought,
} from './fixture.ts'
import type { Bench } from './bench.ts'

export function defineLeases({ open, kind }: Bench): void {
  test('sessions with work are claimed once, in the order of their oldest work', async () => {
    const { store, clock } = await open()
    for (const id of ['idle', 'late', 'early', 'paused']) await store.sessions.create(newSession(id))
    await store.commit({ session_id: 'early', events: [say('1')] })
    clock.advance(10)
    await store.commit({ session_id: 'late', events: [say('2')] })
    await store.commit({ session_id: 'paused', events: [say('3'), pause()] })
    clock.advance(10)
    // A later message does not move the session to the end of the queue.
    await store.commit({ session_id: 'early', events: [say('4')] })
    expect((await store.leases.claim('w1', 1, 60_000)).map(claim => claim.session.id)).toEqual(['early'])
    expect((await store.leases.claim('w2', 10, 60_000)).map(claim => claim.session.id)).toEqual(['late'])
    expect(await store.leases.claim('w3', 10, 60_000)).toEqual([])
  })

  test('countDue counts queued, abandoned and rolled-back sessions, each once', async () => {
    const { store, clock } = await open()
    const due = (): Promise<number> => store.leases.countDue()
    for (const id of ['idle', 'queued', 'running', 'saga']) await store.sessions.create(newSession(id))
    expect(await due()).toBe(0)
    await store.commit({ session_id: 'running', events: [say('1')] })
    expect(await store.leases.claim('w1', 10, 60_000)).toHaveLength(1)
    expect(await due()).toBe(0)
    await store.commit({ session_id: 'queued', events: [say('2')] })
    // It has work and a saga to roll back.
    await store.commit({ session_id: 'saga', events: [sagaStart('g'), say('3')] })
    await store.commit({ session_id: 'saga', events: [pause(), resume()], revoke_lease: true })
    expect(await due()).toBe(2)
    // The runner dies: its lease expires.
    clock.advance(60_001)
    expect(await due()).toBe(3)
    expect(await store.leases.claim('w2', 10, 60_000)).toHaveLength(3)
    expect(await due()).toBe(0)
  })

  test('a session with a saga to roll back is claimed first, in any status, until the saga is complete', async () => {
    const { store, clock } = await open()
    for (const id of ['work', 'saga']) await store.sessions.create(newSession(id))
    await store.commit({ session_id: 'work', events: [say('1')] })
    await store.commit({ session_id: 'saga', events: [sagaStart('g')], cursor: 'self' })
    await store.commit({ session_id: 'saga', events: [pause()], revoke_lease: true })
    const [claim, ...more] = await store.leases.claim('w1', 1, 60_000)
    expect([claim?.session.id, claim?.session.status, more]).toEqual(['saga', 'paused', []])
    // The runner dies: its lease expires, and the next one finds the session although it is paused.
    clock.advance(60_001)
    const [next] = await store.leases.claim('w2', 1, 60_000)
    expect(next).toMatchObject({ session: { id: 'saga' }, abandoned_s: 60.001 })
    if (next === undefined) throw new Error('nothing was claimed')
    await store.commit({
      session_id: 'saga',
      fence: next.fence,
      events: [sagaComplete('g')],
      release_lease: true,
    })
    expect((await store.leases.claim('w3', 10, 60_000)).map(({ session }) => session.id)).toEqual(['work'])
    expect(await store.check()).toEqual([])
  })

  test('a watcher gets the lease epoch of each commit, and null after the lease is revoked', async () => {
    const { store } = await open()
    const { fence } = await claimOne(store, 's')
    const heard: (number | null)[] = []
    const stop = store.events.watch('s', epoch => heard.push(epoch))
    await store.commit({ session_id: 's', fence, events: [thought('mine')] })
    await expect.poll(() => heard).toEqual([fence.epoch])
    await store.commit({ session_id: 's', events: [say('2')] })
    await expect.poll(() => heard).toEqual([fence.epoch, fence.epoch])
    await store.commit({ session_id: 's', events: [pause()], revoke_lease: true })
    await expect.poll(() => heard.at(-1)).toBeNull()
    stop()
  })

  test('a claim returns a fence that commits accept, and a session with the lease', async () => {
    const { store, clock } = await open()
    const claim = await claimOne(store, 's')
    expect(claim).toMatchObject({ fence: { worker_id: 'worker_1' }, abandoned_s: null })
    expect(claim.session.lease).toEqual({
      worker_id: 'worker_1',
      epoch: claim.fence.epoch,
      until: clock.now() + 60_000,
    })
    await store.commit({ session_id: 's', fence: claim.fence, events: [thought('mine')] })
  })

  test('leases.get returns the lease and the current status of a session', async () => {
    const { store } = await open()
    const { session, fence } = await claimOne(store, 's', 'w1', 60_000)
    expect(await store.leases.get('s')).toMatchObject({ status: 'active', lease: session.lease })
    await store.commit({ session_id: 's', events: [pause()], revoke_lease: true })
    expect(await store.leases.get('s')).toMatchObject({ status: 'paused', lease: null })
    expect(session.lease?.epoch).toBe(fence.epoch)
    expect(await store.leases.get('nobody')).toBeNull()
  })

  test('an expired lease goes to the next runner, and commits with the old fence are rejected', async () => {
    const { store, clock } = await open()
    const first = await claimOne(store, 's', 'w1', 60_000)
    clock.advance(60_001)
    const [second] = await store.leases.claim('w2', 1, 60_000)
    expect(second).toMatchObject({ session: { id: 's' }, abandoned_s: 60.001 })
    expect(second?.fence.epoch).toBeGreaterThan(first.fence.epoch)
    const refusal = await refused(
      store,
      { session_id: 's', fence: first.fence, events: [thought('too late')] },
      'stale_lease',
    )
    expect(refusal.session?.lease?.worker_id).toBe('w2')
    await refused(
      store,
      { session_id: 's', fence: { worker_id: 'w1', epoch: second?.fence.epoch ?? 0 }, events: [] },
      'stale_lease',
    )
    expect(await store.leases.renew('w1', [{ session_id: 's', epoch: first.fence.epoch }], 60_000)).toEqual([
      's',
    ])
  })

  test('a runner that lost its lease and got a new one cannot use the old one', async () => {
    const { store, clock } = await open()
    const first = await claimOne(store, 's', 'w1', 60_000)
    clock.advance(60_001)
    const [second] = await store.leases.claim('w1', 1, 60_000)
    await refused(
      store,
      { session_id: 's', fence: first.fence, events: [thought('from before')] },
      'stale_lease',
    )
    expect(await store.leases.renew('w1', [{ session_id: 's', epoch: first.fence.epoch }], 60_000)).toEqual([
      's',
    ])
    await store.leases.release('s', first.fence)
    expect((await store.sessions.get('s'))?.lease?.epoch).toBe(second?.fence.epoch)
  })

  test('renewing extends a lease, and returns the lost ones', async () => {
    const { store, clock } = await open()
    const { fence } = await claimOne(store, 's', 'w1', 60_000)
    for (let round = 0; round < 5; round += 1) {
      clock.advance(50_000)
      expect(
        await store.leases.renew(
          'w1',
          [
            { session_id: 's', epoch: fence.epoch },
            { session_id: 'unknown', epoch: 1 },
          ],
          60_000,
        ),
      ).toEqual(['unknown'])
      expect(await store.leases.claim('w2', 1, 60_000)).toEqual([])
    }
    clock.advance(60_001)
    // The time since the last renewal, not since the claim.
    expect(await store.leases.claim('w2', 1, 60_000)).toMatchObject([{ abandoned_s: 60.001 }])
  })

  test('a released lease does not count as abandoned', async () => {
    const { store, clock } = await open()
    const { fence } = await claimOne(store, 's', 'w1')
    await store.leases.release('s', fence)
    clock.advance(5000)
    expect(await store.leases.claim('w2', 1, 60_000)).toMatchObject([
      { session: { id: 's' }, abandoned_s: null },
    ])
    await refused(store, { session_id: 's', fence, events: [] }, 'stale_lease')
    // A lease that this runner no longer holds stays unchanged.
    await store.leases.release('s', fence)
    expect((await store.sessions.get('s'))?.lease?.worker_id).toBe('w2')
  })

  test('release_lease releases the lease with the commit, and the cursor completes the work', async () => {
    const { store } = await open()
    const { fence } = await claimOne(store, 's')
    const { session } = await store.commit({
      session_id: 's',
      fence,
      events: [complete()],
      cursor: 'self',
      release_lease: true,
    })
    expect(session).toMatchObject({ lease: null, cursor: 2, status: 'completed' })
    await store.commit({ session_id: 's', reopen: resume(), events: [say('again')] })
    expect(await store.leases.claim('w2', 1, 60_000)).toMatchObject([
      { session: { id: 's', cursor: 2, wake_id: 4 }, abandoned_s: null },
    ])
  })

  test('revoke_lease takes the session from its runner at once', async () => {
    const { store } = await open()
    const { fence } = await claimOne(store, 's')
    const { session } = await store.commit({ session_id: 's', events: [pause()], revoke_lease: true })
    expect(session.lease).toBeNull()
    await refused(store, { session_id: 's', fence, events: [thought('what pause?')] }, 'stale_lease')
    expect(await store.leases.claim('w2', 1, 60_000)).toEqual([])
    await store.commit({ session_id: 's', events: [resume()] })
    expect(await store.leases.claim('w2', 1, 60_000)).toMatchObject([{ abandoned_s: null }])
  })

  test('a cursor never moves back, and only events after it are work', async () => {
    const { store } = await open()
    const { fence } = await claimOne(store, 's')
    await store.commit({ session_id: 's', fence, events: [thought('a'), thought('b')], cursor: 3 })
    expect((await store.commit({ session_id: 's', fence, events: [], cursor: 1 })).session.cursor).toBe(3)
    await store.leases.release('s', fence)
    expect(await store.leases.claim('w2', 1, 60_000)).toEqual([])
    await store.commit({ session_id: 's', events: [answered('call')] })
    expect(await store.leases.claim('w2', 1, 60_000)).toHaveLength(1)
  })

  test('only one of many concurrent claims gets a session', async () => {
    const { store } = await open()
    const sessions = Array.from({ length: 20 }, (_, at) => `s${at}`)
    for (const id of sessions) {
      await store.sessions.create(newSession(id))
      await store.commit({ session_id: id, events: [say('go')] })
    }
    const claims = (
      await Promise.all(Array.from({ length: 16 }, (_, at) => store.leases.claim(`w${at}`, 3, 60_000)))
    ).flat()
    expect(claims.map(claim => claim.session.id).toSorted()).toEqual(sessions.toSorted())
  })

  test('runners are notified of new work, of a released lease with work left, and of a resume', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const acts: Record<string, () => Promise<unknown>> = {
      'new work': () => store.commit({ session_id: 's', events: [say('go')] }),
      'a lease given back': async () => {
        const claims = await store.leases.claim('w', 1, 60_000)
        expect(claims).toHaveLength(1)
        for (const { fence } of claims) await store.leases.release('s', fence)
      },
      'a resume': async () => {
        await store.commit({ session_id: 's', events: [pause()] })
        await store.commit({ session_id: 's', events: [resume()] })
      },
    }
    for (const [what, act] of Object.entries(acts)) {
      const nudge = once()
      const stop = store.leases.watch(nudge.call)
      await act()
      await expectTold(`a worker, of ${what},`, nudge)
      stop()
    }
  })

  // The owner of a place knows after a restart that every holder is gone.
  if (kind === 'exclusive')
    test('after a restart every lease is free at once, and the claim reports that its holder died', async () => {
      const { store, clock, place } = await open()
      const { fence } = await claimOne(store, 's', 'w1', 60_000)
      await store.close()
      clock.advance(2000)
      const { store: again } = await open({ place, clock })
      const [claim] = await again.leases.claim('w2', 1, 60_000)
      expect(claim).toMatchObject({ session: { id: 's' }, abandoned_s: 2 })
      await refused(again, { session_id: 's', fence, events: [] }, 'stale_lease')
    })

  // On a shared store a lease lasts until its expiry, whatever other process starts or stops.
  if (kind === 'shared')
    test('a starting process takes no lease of a running one, and claims the work after the lease expired', async () => {
      const { store, clock, place } = await open()
      const { fence } = await claimOne(store, 's', 'w1', 60_000)
      const { store: other } = await open({ place, clock })
      expect(await other.leases.claim('w2', 10, 60_000)).toEqual([])
      await store.commit({ session_id: 's', fence, events: [thought('still mine')] })
      clock.advance(60_001)
      expect(await other.leases.claim('w2', 10, 60_000)).toMatchObject([
        { session: { id: 's' }, abandoned_s: 60.001 },
      ])
      await refused(store, { session_id: 's', fence, events: [thought('too late')] }, 'stale_lease')
    })
}
