/** Finding sessions by words of their title, their agent or their id. */
import type { LogStore } from '@cairn/log'
import { SEARCHED_AT_ONCE } from '../../src/listing.ts'
import { expect, test } from 'vitest'
import type { Bench } from './bench.ts'
import { newSession } from './fixture.ts'

async function find(store: LogStore, text: string, limit = 50): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.listSessions({
      org_id: 'org_1',
      text,
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    })
    expect(page.sessions.length).toBeLessThanOrEqual(limit)
    found.push(...page.sessions.map(({ id }) => id))
    cursor = page.next_cursor
  }
  return found
}

export function defineSearching({ open }: Bench): void {
  test('sessions are found by words of title, agent and id, whatever their case and however old they are', async () => {
    const { store } = await open()
    await store.createSession(newSession('s-old', { title: 'Needle ALPHA' }))
    await store.createSession(newSession('s-über', { title: 'Übung 50 % _fertig_' }))
    for (let n = 0; n < 120; n++) await store.createSession(newSession(`s-${n}`, { title: `Hay ${n}` }))
    await store.createSession(newSession('s-clerk', { agent: 'clerk' }))
    await store.createSession(newSession('s-away', { org_id: 'org_2', title: 'Needle beta' }))
    expect(await find(store, 'needle')).toEqual(['s-old'])
    expect(await find(store, ' alpha  NEEDLE ')).toEqual(['s-old'])
    expect(await find(store, 'needle beta')).toEqual([])
    expect(await find(store, 'übung')).toEqual(['s-über'])
    expect(await find(store, 'S-ÜBER')).toEqual(['s-über'])
    expect(await find(store, 'clerk')).toEqual(['s-clerk'])
    expect(await find(store, 's-17')).toEqual(['s-17'])
  })

  test('nothing of the text is a pattern', async () => {
    const { store } = await open()
    await store.createSession(newSession('s-percent', { title: '50 % _done_ \\ 100' }))
    await store.createSession(newSession('s-plain', { title: '50 done 100' }))
    for (const text of ['%', '_', '\\', '_done_']) expect(await find(store, text)).toEqual(['s-percent'])
    expect(await find(store, "'")).toEqual([])
  })

  test('what was found comes in pages, newest first, each session once', async () => {
    const { store } = await open()
    for (let n = 0; n < 40; n++)
      await store.createSession(newSession(`s-${n}`, { title: n % 3 === 0 ? 'this' : 'that' }))
    const wanted = Array.from({ length: 14 }, (_, n) => `s-${39 - 3 * n}`)
    for (const limit of [1, 5, 14, 50]) expect(await find(store, 'this', limit)).toEqual(wanted)
  })

  test('one page looks through so many sessions at most, and the next goes on from there', async () => {
    const { store } = await open()
    await store.createSession(newSession('s-oldest', { title: 'needle' }))
    // No more at once than a busy Postgres takes within the patience of its clients.
    for (let from = 0; from < SEARCHED_AT_ONCE + 500; from += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => store.createSession(newSession(`s-${from + n}`))),
      )
    const first = await store.listSessions({ org_id: 'org_1', text: 'needle', limit: 50 })
    expect(first.sessions).toEqual([])
    expect(first.next_cursor).not.toBeNull()
    expect(await find(store, 'needle')).toEqual(['s-oldest'])
  })
}
