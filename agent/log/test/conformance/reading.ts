/** Reading and following: no event is missed, repeated, or visible before it is on disk. */
import { expect, test } from 'vitest'
import { type StoredEvent, tail } from '@cairn/log'
import { complete, ids, newSession, once, readAll, response, say, thought, upTo } from './fixture.ts'
import type { Bench } from './bench.ts'

/** A small seeded generator, good enough to cut streams at odd places (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

export function defineReading({ open }: Bench): void {
  test('pages end at the limit and continue from the cursor', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({
      session_id: 's',
      events: Array.from({ length: 25 }, (_, at) => thought(String(at))),
    })
    expect(ids(await store.events.read('s', 0, 10))).toEqual(upTo(10))
    expect(ids(await store.events.read('s', 20, 10))).toEqual([21, 22, 23, 24, 25])
    expect(await store.events.read('s', 25, 10)).toEqual([])
    expect(await store.events.read('s', 1000, 10)).toEqual([])
    expect(await store.events.read('nobody', 0, 10)).toEqual([])
  })

  test('a read by type returns only those types, stored or live', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const events = [say('a'), thought('b'), response('c'), thought('d'), complete()]
    await store.commit({ session_id: 's', events })
    expect(ids(await store.events.read('s', 0, 10, ['llm.thinking', 'session.complete']))).toEqual([2, 4, 5])
    const stop = store.events.watch('s', () => undefined)
    await store.commit({ session_id: 's', events })
    expect(ids(await store.events.read('s', 5, 10, ['llm.thinking', 'session.complete']))).toEqual([7, 9, 10])
    expect(ids(await store.events.read('s', 0, 3, ['llm.thinking']))).toEqual([2, 4, 7])
    stop()
  })

  test('a page is correct from every cursor, however its events were written', async () => {
    const { store, clock, place } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t'))
    let last = 0
    for (let size = 1; last < 150; size = (size * 7) % 11) {
      await store.commit({ session_id: 't', events: [thought('between')] })
      last = (
        await store.commit({
          session_id: 's',
          events: Array.from({ length: size }, (_, at) => (at % 3 === 0 ? say('m') : thought('t'))),
        })
      ).last_id
    }
    const all = await readAll(store, 's', 1000)
    expect(ids(all)).toEqual(upTo(last))
    const messages = all.filter(event => event.type === 'user.message')
    const examine = async (log: typeof store) => {
      for (let after = 0; after <= last; after += 1) {
        expect(await log.events.read('s', after, 9)).toEqual(all.slice(after, after + 9))
        expect(await log.events.read('s', after, 4, ['user.message'])).toEqual(
          messages.filter(event => event.id > after).slice(0, 4),
        )
      }
    }
    await examine(store)
    await store.close()
    await examine((await open({ place, clock })).store)
  })

  test('a watcher is notified of growth after it can be read, and not after it stopped', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    let calls = 0
    const nudge = once()
    const stop = store.events.watch('s', () => {
      calls += 1
      nudge.call()
    })
    await store.commit({ session_id: 's', events: [thought('a')] })
    await nudge.called
    expect(ids(await store.events.read('s', 0, 10))).toEqual([1])
    const before = calls
    stop()
    await store.commit({ session_id: 's', events: [thought('b')] })
    expect(calls).toBe(before)
  })

  test('a watched session reads the same as an unwatched one, at any cursor', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({
      session_id: 's',
      events: Array.from({ length: 40 }, (_, at) => thought(`before ${at}`)),
    })
    const stop = store.events.watch('s', () => undefined)
    // More than any cache of the newest events contains.
    for (let round = 0; round < 12; round += 1)
      await store.commit({
        session_id: 's',
        events: Array.from({ length: 100 }, (_, at) => thought(`${round}/${at}`)),
      })
    const cursors = [0, 1, 39, 40, 41, 500, 727, 728, 729, 1100, 1239, 1240, 1241]
    const watched = await Promise.all(cursors.map(after => store.events.read('s', after, 64)))
    stop()
    const stored = await Promise.all(cursors.map(after => store.events.read('s', after, 64)))
    expect(watched.map(page => page.map(event => ({ ...event })))).toEqual(
      stored.map(page => page.map(event => ({ ...event }))),
    )
    expect(ids(stored[5] ?? [])).toEqual(upTo(64).map(id => id + 500))
  })

  test('a tail returns history, then later commits, and ends without an error', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({
      session_id: 's',
      events: Array.from({ length: 10 }, (_, at) => thought(String(at))),
    })
    const stop = new AbortController()
    const seen: StoredEvent[] = []
    const reached = once()
    const following = (async () => {
      for await (const page of tail(store, 's', 3, stop.signal, { pageSize: 2 })) {
        expect(page.length).toBeGreaterThan(0)
        seen.push(...page)
        if (page.at(-1)?.id === 13) reached.call()
      }
    })()
    for (const text of ['x', 'y', 'z']) await store.commit({ session_id: 's', events: [thought(text)] })
    await reached.called
    stop.abort()
    await following
    expect(ids(seen)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
  })

  test('a tail whose signal has already aborted reads nothing', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [thought('x')] })
    for await (const page of tail(store, 's', 0, AbortSignal.abort())) expect(page).toBe('never')
  })

  test('a thousand cuts at random places return exactly the log', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const random = seeded(7)
    const reading = new AbortController()
    const writing = (async () => {
      // Writes for as long as the reader runs, so that cuts fall into history, into live pages and between
      // the two.
      while (!reading.signal.aborted)
        await store.commit({
          session_id: 's',
          events: Array.from({ length: 1 + Math.floor(random() * 4) }, () => thought('w')),
        })
    })()
    const seen: number[] = []
    for (let cut = 0; cut < 1000; cut += 1) {
      const stop = new AbortController()
      const take = 1 + Math.floor(random() * 6)
      let taken = 0
      for await (const page of tail(store, 's', seen.at(-1) ?? 0, stop.signal, {
        pageSize: 1 + Math.floor(random() * 8),
      })) {
        seen.push(...ids(page))
        taken += page.length
        if (taken >= take) stop.abort()
      }
    }
    reading.abort()
    await writing
    expect(seen).toEqual(ids(await readAll(store, 's')).slice(0, seen.length))
    expect(seen.length).toBeGreaterThanOrEqual(1000)
    // As fast as single commits reach the disk, which other work may be using.
  }, 120_000)

  test('listings are newest first in pages, and omit archived sessions unless requested', async () => {
    const { store } = await open()
    const all = Array.from({ length: 7 }, (_, at) => `s${at}`)
    for (const id of all)
      await store.sessions.create(
        newSession(id, {
          created_by: id === 's3' ? 'user_2' : 'user_1',
          parent_id: id === 's5' ? 's0' : null,
        }),
      )
    await store.sessions.create(newSession('elsewhere', { org_id: 'org_2' }))
    await store.commit({ session_id: 's1', events: [], set: { status: 'archived' } })
    await store.commit({ session_id: 's2', events: [complete()] })
    const listed: string[] = []
    for (let cursor: string | undefined; ;) {
      const page = await store.sessions.list({
        org_id: 'org_1',
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      })
      expect(page.sessions.length).toBeLessThanOrEqual(2)
      listed.push(...page.sessions.map(session => session.id))
      if (page.next_cursor === null) break
      cursor = page.next_cursor
      // A session that is created meanwhile belongs before the first page, and moves no later one.
      await store.sessions.create(newSession(`new-${listed.length}`))
    }
    expect(listed).toEqual(['s6', 's5', 's4', 's3', 's2', 's0'])
    const only = async (query: object) =>
      (await store.sessions.list({ org_id: 'org_1', limit: 100, ...query })).sessions
        .map(session => session.id)
        .filter(id => /^s\d$/.test(id))
    expect(await only({ status: ['archived', 'completed'] })).toEqual(['s2', 's1'])
    expect(await only({ created_by: 'user_2' })).toEqual(['s3'])
    expect(await only({ parent_id: 's0' })).toEqual(['s5'])
    expect(await only({ parent_id: null })).toEqual(['s6', 's4', 's3', 's2', 's0'])
    await expect(
      store.sessions.list({ org_id: 'org_1', limit: 2, cursor: 'not one of ours!' }),
    ).rejects.toMatchObject({ code: 'invalid_cursor' })
  })
}
