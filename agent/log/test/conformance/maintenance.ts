/** Pruning, checking, copying, and restarting. */
import { expect, test } from 'vitest'
import { withRows } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import {
  claimOne,
  complete,
  delta,
  ids,
  newSession,
  readAll,
  response,
  sagaComplete,
  sagaStart,
  say,
  stopped,
  thought,
} from './fixture.ts'
import type { Bench } from './bench.ts'

export function defineUpkeep({ open }: Bench): void {
  test('a restart finds everything that was acknowledged, and continues from there', async () => {
    const { store, clock, place } = await open()
    await store.sessions.create(newSession('s', { title: 'T', config: { model: 'x' } }))
    await store.commit({ session_id: 's', events: [say('a'), response('b', { cost: 0.1 })] })
    const session = await store.sessions.get('s')
    const events = await readAll(store, 's')
    await store.close()
    const { store: again } = await open({ place, clock })
    expect(await again.sessions.get('s')).toEqual(session)
    expect(await readAll(again, 's')).toEqual(events)
    expect((await again.commit({ session_id: 's', events: [thought('c')] })).last_id).toBe(3)
    expect(await again.check()).toEqual([])
  })

  test('a probe writes and leaves the logs unchanged', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [say('a')] })
    for (let n = 0; n < 3; n += 1) await store.probe()
    expect(ids(await readAll(store, 's'))).toEqual([1])
    expect(await store.check()).toEqual([])
  })

  test('pruning removes superseded deltas and nothing else, and no id is reused', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t'))
    await store.commit({ session_id: 's', events: [say('a'), delta('1'), delta('2')] })
    // A call that failed and was retried: its deltas are covered by the later response.
    await store.commit({ session_id: 's', events: [delta('3'), response('b')] })
    const landed = clock.now()
    await store.commit({ session_id: 't', events: [delta('nothing answers this')] })
    clock.advance(1000)
    await store.commit({ session_id: 's', events: [delta('4'), response('c'), delta('5')] })
    expect(await store.events.pruneDeltas(landed)).toBe(0)
    expect(await store.events.pruneDeltas(landed + 1)).toBe(3)
    expect(ids(await readAll(store, 's'))).toEqual([1, 5, 6, 7, 8])
    expect(await store.events.pruneDeltas(clock.now() + 1)).toBe(1)
    expect(ids(await readAll(store, 's'))).toEqual([1, 5, 7, 8])
    expect(ids(await readAll(store, 't'))).toEqual([1])
    expect(await store.events.pruneDeltas(clock.now() + 1)).toBe(0)
    expect((await store.commit({ session_id: 's', events: [response('d')] })).last_id).toBe(9)
    expect(await store.events.pruneDeltas(clock.now() + 1)).toBe(1)
    expect(await store.check()).toEqual([])
  })

  test('a watching reader still reads correctly after pruning', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const stop = store.events.watch('s', () => undefined)
    await store.commit({ session_id: 's', events: [say('a'), delta('1'), delta('2'), response('b')] })
    await store.events.pruneDeltas(clock.now() + 1)
    await store.commit({ session_id: 's', events: [thought('c'), complete()] })
    expect(ids(await store.events.read('s', 0, 10))).toEqual([1, 4, 5, 6])
    expect(ids(await store.events.read('s', 4, 10))).toEqual([5, 6])
    stop()
  })

  test('sessions.retired returns the given sessions that are archived, without a lease and without a due rollback', async () => {
    const { store } = await open()
    for (const id of ['live', 'gone', 'gone too', 'owes']) await store.sessions.create(newSession(id))
    const archive = (session_id: string, events: EventDraft[] = []) =>
      store.commit({ session_id, events, revoke_lease: true, cursor: 'self', set: { status: 'archived' } })
    const { fence } = await claimOne(store, 'held')
    await archive('gone')
    await archive('gone too')
    await store.commit({ session_id: 'owes', events: [say('a'), sagaStart('x')] })
    await archive('owes', [stopped()])
    const asked = ['live', 'gone', 'owes', 'held', 'nobody']
    expect(await store.sessions.retired(asked)).toEqual(['gone'])
    expect(await store.sessions.retired([])).toEqual([])
    // The archive revokes the lease; a due rollback takes a new one until it is done.
    await archive('held')
    await store.leases.release('held', fence)
    expect((await store.sessions.retired(asked)).toSorted()).toEqual(['gone', 'held'])
    const [claim] = await store.leases.claim('worker_2', 1, 60_000)
    expect(claim?.session.id).toBe('owes')
    await store.commit({ session_id: 'owes', fence: claim!.fence, events: [sagaComplete('x')] })
    expect((await store.sessions.retired(asked)).toSorted()).toEqual(['gone', 'held'])
    await store.leases.release('owes', claim!.fence)
    expect((await store.sessions.retired(asked)).toSorted()).toEqual(['gone', 'held', 'owes'])
  })

  test('a session in use, with leases, items and pruned deltas, passes the check', async () => {
    const { store, clock } = await open()
    const { fence } = await claimOne(store, 's')
    for (let turn = 0; turn < 10; turn += 1)
      await store.commit({
        session_id: 's',
        fence,
        events: [delta('x'), delta('y'), response('z', { cost: 0.1 }), say('next')],
      })
    await store.commit({
      session_id: 's',
      events: [
        withRows(say('x'), {
          do: 'inbox.open',
          item: {
            id: 'i',
            kind: 'task_complete',
            title: 'T',
            body: null,
            payload: {},
            expires_at: null,
            tool_call_id: null,
          },
        }),
      ],
    })
    await store.events.pruneDeltas(clock.now() + 1)
    expect(await store.check()).toEqual([])
  })
}
