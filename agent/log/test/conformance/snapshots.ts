/** Snapshots of a fold: stored beside the log, never ahead of it, and returned only as they were saved. */
import { expect, test } from 'vitest'
import type { Snapshot } from '@cairn/log'
import type { Bench } from './bench.ts'
import { delta, ids, newSession, readAll, response, say, thought } from './fixture.ts'

const upToEvent = (last_id: number, body = `{"to":${last_id}}`, version = 'v1'): Snapshot => ({
  version,
  last_id,
  body,
})

export function defineSnapshots({ open, sql }: Bench): void {
  /** A session with this number of events, some of them still in its row and some not. */
  async function sessionOf(events: number) {
    const opened = await open()
    await opened.store.sessions.create(newSession('s'))
    for (let n = 0; n < events; n += 1)
      await opened.store.commit({ session_id: 's', events: [thought(`thought ${n}`)] })
    return opened
  }

  test('a snapshot is returned as it was saved, also by the next process, and replaces the previous one', async () => {
    const { store, clock, place } = await sessionOf(100)
    expect(await store.snapshots.read('s', 'v1')).toBeNull()
    for (const last_id of [3, 60, 100, 99]) {
      const snapshot = upToEvent(last_id, JSON.stringify({ said: '“ü” \0 \ud800 \\u0000 👍', last_id }))
      expect(await store.snapshots.save('s', snapshot)).toBe(true)
      expect(await store.snapshots.read('s', 'v1')).toEqual(snapshot)
    }
    await store.commit({ session_id: 's', events: [thought('more')] })
    const saved = await store.snapshots.read('s', 'v1')
    expect(saved?.last_id).toBe(99)
    await store.close()
    const { store: again } = await open({ place, clock })
    expect(await again.snapshots.read('s', 'v1')).toEqual(saved)
    expect(await again.check()).toEqual([])
  })

  test('a snapshot belongs to the version that saved it and to its own session', async () => {
    const { store } = await sessionOf(5)
    await store.sessions.create(newSession('t'))
    await store.commit({ session_id: 't', events: [say('a')] })
    await store.snapshots.save('s', upToEvent(4))
    expect(await store.snapshots.read('s', 'v2')).toBeNull()
    expect(await store.snapshots.read('t', 'v1')).toBeNull()
    expect(await store.snapshots.read('nobody', 'v1')).toBeNull()
    await store.snapshots.save('s', upToEvent(2, '{}', 'v2'))
    expect(await store.snapshots.read('s', 'v1')).toBeNull()
    expect((await store.snapshots.read('s', 'v2'))?.last_id).toBe(2)
  })

  test('a snapshot ahead of the log or without a session is not saved', async () => {
    const { store } = await sessionOf(40)
    await store.snapshots.save('s', upToEvent(7))
    for (const last_id of [41, 1_000_000, 0, -1])
      expect(await store.snapshots.save('s', upToEvent(last_id)), String(last_id)).toBe(false)
    expect(await store.snapshots.save('nobody', upToEvent(1))).toBe(false)
    expect((await store.snapshots.read('s', 'v1'))?.last_id).toBe(7)
    expect(ids(await readAll(store, 's'))).toHaveLength(40)
  })

  test('a snapshot outlives the pruning of the events that it folded', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [say('a'), delta('b'), delta('c'), response('bc')] })
    await store.snapshots.save('s', upToEvent(4))
    expect(await store.events.pruneDeltas(clock.now() + 1)).toBe(2)
    expect((await store.snapshots.read('s', 'v1'))?.last_id).toBe(4)
  })

  test.for([
    { what: 'its text', damage: `UPDATE snapshots SET body = replace(body, '9', '8')` },
    { what: 'its end', damage: 'UPDATE snapshots SET last_id = last_id - 1' },
    { what: 'its version', version: 'v0', damage: `UPDATE snapshots SET version = 'v1'` },
    {
      what: 'the record it ends with',
      damage: `UPDATE events SET json = replace(json, 'thought 89', 'thought 98') WHERE id = 90`,
    },
  ])(
    'a snapshot is not returned after $what has changed, and the next one is',
    async ({ version, damage }) => {
      const { store, place } = await sessionOf(100)
      await store.snapshots.save('s', upToEvent(90, undefined, version))
      await sql(place, damage)
      expect(await store.snapshots.read('s', 'v1')).toBeNull()
      expect(await store.snapshots.save('s', upToEvent(80))).toBe(true)
      expect((await store.snapshots.read('s', 'v1'))?.last_id).toBe(80)
    },
  )

  test('a snapshot beyond the end of a restored log is not returned', async () => {
    const { store, place } = await sessionOf(60)
    await store.snapshots.save('s', upToEvent(50))
    await sql(place, 'UPDATE snapshots SET last_id = 100')
    expect(await store.snapshots.read('s', 'v1')).toBeNull()
  })
}
