/**
 * Finding sessions: by words of their conversation, by words of their title, agent or id, and the usage sums
 * that the index collects.
 */
import type { LogStore, SearchPage, SearchQuery } from '@cairn/log'
import { SESSION_SORTS, type UsageGroup } from '@cairn/protocol'
import { SEARCHED_AT_ONCE } from '../../src/engine/listing.ts'
import { expect, test } from 'vitest'
import type { Bench } from './bench.ts'
import { called, complete, delta, newSession, request, response, say } from './fixture.ts'

async function find(store: LogStore, text: string, limit = 50): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.sessions.list({
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

type Options = Partial<Omit<SearchQuery, 'words'>>
const findWords = async (store: LogStore, words: string, options: Options = {}) => {
  await store.search.catchUp()
  return store.search.find({ org_id: 'org_1', words, limit: 50, ...options })
}
const idsOf = ({ found }: SearchPage): string[] => found.map(({ session }) => session.id)

function defineWords({ open, kind }: Bench): void {
  /** Promise 4.16: Search finds messages, actions and answers, and returns their location. */
  test('a session is found by its messages, answers and calls, and the hit has its position', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s-title', { title: 'Quarterly harvest' }))
    await store.sessions.create(newSession('s-said'))
    await store.commit({
      session_id: 's-said',
      events: [say('plant the HARVEST moon'), response('Done: sown.')],
    })
    await store.sessions.create(newSession('s-tool'))
    await store.commit({
      session_id: 's-tool',
      events: [say('go'), called('c1', { path: 'barn/harvest.txt' })],
    })
    const { found } = await findWords(store, 'harvest')
    expect(found.map(({ session, hits }) => [session.id, hits.map(hit => [hit.event_id, hit.in])])).toEqual([
      ['s-tool', [[2, 'tool']]],
      ['s-said', [[1, 'message']]],
      ['s-title', [[0, 'title']]],
    ])
    expect(idsOf(await findWords(store, 'sown'))).toEqual(['s-said'])
    const hit = found[1]?.hits[0]
    expect(hit?.marks.map(([from, to]) => hit.text.slice(from, to))).toEqual(['HARVEST'])
    expect(idsOf(await findWords(store, 's-tool'))).toEqual(['s-tool'])
  })

  test('a text must contain all words, and the last one may be a prefix', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s-both'))
    await store.commit({ session_id: 's-both', events: [say('red barn'), say('blue door')] })
    expect(idsOf(await findWords(store, 'red barn'))).toEqual(['s-both'])
    expect(idsOf(await findWords(store, 'red door'))).toEqual([])
    expect(idsOf(await findWords(store, 'blue doo'))).toEqual(['s-both'])
    expect(idsOf(await findWords(store, 'doo blue'))).toEqual([])
    expect(idsOf(await findWords(store, 'doo '))).toEqual([])
  })

  test('case and accents are ignored, and scripts without spaces match within words', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s-words'))
    await store.commit({
      session_id: 's-words',
      events: [say('Übung im CAFÉ: 設定ファイルを読む, don’t_stop')],
    })
    for (const words of ['ubung', 'cafe', '設定', 'ファイル', 'stop', 'DON’T_STOP'])
      expect([words, idsOf(await findWords(store, words))]).toEqual([words, ['s-words']])
    for (const words of ['', '  ', '"', "' OR 1=1 --", 'NEAR(', '*', ':*', '&'])
      expect([words, idsOf(await findWords(store, words))]).toEqual([words, []])
  })

  test('a search never finds text of another organisation or person', async () => {
    const { store } = await open()
    for (const org_id of ['org_1', 'org_2'])
      for (const created_by of ['user_1', 'user_2']) {
        const id = `${org_id}-${created_by}`
        await store.sessions.create(newSession(id, { org_id, created_by, title: 'treasure' }))
        await store.commit({ session_id: id, events: [say('the treasure is buried')] })
      }
    for (const sort of SESSION_SORTS) {
      expect(idsOf(await findWords(store, 'treasure', { sort })).toSorted()).toEqual([
        'org_1-user_1',
        'org_1-user_2',
      ])
      expect(idsOf(await findWords(store, 'buri', { sort, created_by: 'user_2' }))).toEqual(['org_1-user_2'])
      expect(idsOf(await findWords(store, 'treasure', { sort, org_id: 'org_3' }))).toEqual([])
    }
  })

  test('results come in pages in each order, each session once, and cursors keep their order', async () => {
    const { store, clock } = await open()
    const costs = [3, 1, 2, 2, 0, 5]
    for (const [at, cost] of costs.entries()) {
      await store.sessions.create(newSession(`s-${at}`))
      clock.advance(1000)
      await store.commit({ session_id: `s-${at}`, events: [say('common'), response('word', { cost })] })
    }
    clock.advance(1000)
    await store.commit({ session_id: 's-1', events: [say('again')] })
    const wanted = {
      created: [5, 4, 3, 2, 1, 0],
      updated: [1, 5, 4, 3, 2, 0],
      cost: [5, 0, 3, 2, 1, 4],
    }
    for (const sort of SESSION_SORTS)
      for (const limit of [1, 4, 6]) {
        const listed: string[] = []
        const found: string[] = []
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await findWords(store, 'common', {
            sort,
            limit,
            ...(cursor === undefined ? {} : { cursor }),
          })
          found.push(...idsOf(page))
          cursor = page.next_cursor
        }
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await store.sessions.list({
            org_id: 'org_1',
            sort,
            limit,
            ...(cursor === undefined ? {} : { cursor }),
          })
          listed.push(...page.sessions.map(({ id }) => id))
          cursor = page.next_cursor
        }
        expect([sort, limit, found]).toEqual([sort, limit, wanted[sort].map(at => `s-${at}`)])
        expect(listed).toEqual(found)
      }
    const { next_cursor } = await findWords(store, 'common', { sort: 'cost', limit: 1 })
    await expect(findWords(store, 'common', { cursor: next_cursor ?? '' })).rejects.toMatchObject({
      code: 'invalid_cursor',
    })
  })

  test('filters apply in the search as in the listing', async () => {
    const { store, clock } = await open()
    const begun = clock.now()
    await store.sessions.create(newSession('s-web', { agent: 'clerk' }))
    await store.commit({ session_id: 's-web', events: [say('common'), response('word', { cost: 2 })] })
    clock.advance(60_000)
    await store.sessions.create(newSession('s-slack', { channel: 'slack' }))
    await store.commit({ session_id: 's-slack', events: [say('common'), complete()] })
    const filters: [SearchQuery | object, string[]][] = [
      [{ agent: ['clerk', 'nobody'] }, ['s-web']],
      [{ channel: ['slack'] }, ['s-slack']],
      [{ min_cost_usd: 1.5 }, ['s-web']],
      [{ since: begun + 1 }, ['s-slack']],
      [{ until: begun + 1 }, ['s-web']],
      [{ state: ['running'] }, ['s-web']],
      [{ state: ['done', 'failed'] }, ['s-slack']],
      [{ status: ['archived'] }, []],
    ]
    for (const [filter, ids] of filters) {
      expect([filter, idsOf(await findWords(store, 'common', filter))]).toEqual([filter, ids])
      const { sessions } = await store.sessions.list({ org_id: 'org_1', limit: 9, ...filter })
      expect([filter, sessions.map(({ id }) => id)]).toEqual([filter, ids])
    }
  })

  test('the index follows new commits, and a reopened store continues where it stopped', async () => {
    const { store, clock, place } = await open()
    const stop = store.search.follow()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [say('first words')] })
    const find = (from: LogStore, words: string) => from.search.find({ org_id: 'org_1', words, limit: 5 })
    await expect.poll(async () => idsOf(await find(store, 'first'))).toEqual(['s'])
    await stop()
    await store.search.catchUp()
    await store.commit({ session_id: 's', events: [delta('an answer'), delta(' begins')] })
    expect(await store.search.behind(), 'chunks of an answer leave nothing to index').toBe(0)
    await store.commit({
      session_id: 's',
      events: Array.from({ length: 150 }, (_, n) => say(`later x${n}y`)),
    })
    expect(await store.search.behind()).toBe(1)
    await store.close()
    const again = (await open({ place, clock })).store
    expect(idsOf(await findWords(again, 'x149y'))).toEqual(['s'])
    expect(await again.search.behind()).toBe(0)
    expect((await find(again, 'x3y')).found[0]?.hits.map(hit => hit.event_id)).toEqual([7])
  })

  test('two concurrent indexers add everything once', async () => {
    const { store, place, clock } = await open()
    const other = kind === 'shared' ? (await open({ place, clock })).store : store
    for (let n = 0; n < 20; n++) {
      await store.sessions.create(newSession(`s-${n}`))
      await store.commit({
        session_id: `s-${n}`,
        events: [say('word'), response('yes', { input: 10, cost: 0.5 })],
      })
    }
    await Promise.all([store.search.catchUp(), other.search.catchUp(), store.search.catchUp()])
    const [row] = await store.search.usage({ org_id: 'org_1', since: 0, until: 8e15, by: 'model' })
    expect(row).toMatchObject({ name: 'm', calls: 20, input_tokens: 200, cost_usd: 10, unpriced_calls: 0 })
    expect(idsOf(await findWords(store, 'word'))).toHaveLength(20)
  })

  test('usage is summed by day and by agent, user or model, within one organisation', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s-1', { agent: 'clerk' }))
    await store.sessions.create(newSession('s-2', { created_by: 'user_2' }))
    await store.sessions.create(newSession('s-3', { org_id: 'org_2' }))
    for (const session_id of ['s-1', 's-2', 's-3'])
      await store.commit({ session_id, events: [say('go'), response('one', { cost: 1 })] })
    clock.advance(86_400_000)
    await store.commit({ session_id: 's-1', events: [response('two', { unpriced: true })] })
    await store.search.catchUp()
    const day = clock.now() - (clock.now() % 86_400_000)
    const sums = async (by: UsageGroup) =>
      (await store.search.usage({ org_id: 'org_1', since: 0, until: day + 1, by })).map(row => [
        row.day === day,
        row.name,
        row.calls,
        row.cost_usd,
        row.unpriced_calls,
      ])
    expect(await sums('agent')).toEqual([
      [false, 'assistant', 1, 1, 0],
      [false, 'clerk', 1, 1, 0],
      [true, 'clerk', 1, 0, 1],
    ])
    expect(await sums('user')).toEqual([
      [false, 'user_1', 1, 1, 0],
      [false, 'user_2', 1, 1, 0],
      [true, 'user_1', 1, 0, 1],
    ])
    expect(await sums('model')).toEqual([
      [false, 'm', 2, 2, 0],
      [true, 'm', 1, 0, 1],
    ])
    const own = { org_id: 'org_1', created_by: 'user_2', since: 0, until: day + 1, by: 'agent' } as const
    expect((await store.search.usage(own)).map(row => [row.name, row.cost_usd])).toEqual([['assistant', 1]])
  })

  test('the shape of a session grows with its log, also over another open store', async () => {
    const { store, place, clock } = await open()
    const other = kind === 'shared' ? (await open({ place, clock })).store : store
    const step = async (on: LogStore, ms: number, ...events: Parameters<LogStore['commit']>[0]['events']) => {
      clock.advance(ms)
      await on.commit({ session_id: 's-1', events })
      await on.search.catchUp()
      return (await on.search.shapes(['s-1', 's-none'])).get('s-1')
    }
    await store.sessions.create(newSession('s-1'))
    await store.sessions.create(newSession('s-unseen'))
    expect((await store.search.shapes(['s-1'])).size).toBe(0)
    const first = await step(store, 0, say('go'), request())
    expect(first).toMatchObject({ stretches: [], current: 'model', since: clock.now() })
    await step(other, 300, called('c1', { path: 'b.txt' }))
    const last = await step(store, 100, complete())
    expect(last).toMatchObject({
      stretches: [
        ['model', 300],
        ['tool', 100],
      ],
      current: null,
      step: { tool: 'read_file', arguments: { path: 'b.txt' } },
    })
    // A log that is longer than one range is folded as a whole.
    const pairs = Array.from({ length: 100 }, () => [request(), called('c2')]).flat()
    await step(store, 0, ...pairs)
    expect(await step(store, 50, complete())).toMatchObject({ stretches: [expect.anything(), ['tool', 150]] })
  })
}

export function defineSearching(bench: Bench): void {
  const { open } = bench
  defineWords(bench)

  test('sessions are found by words of title, agent and id, in any case and at any age', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s-old', { title: 'Needle ALPHA' }))
    await store.sessions.create(newSession('s-über', { title: 'Übung 50 % _fertig_' }))
    for (let n = 0; n < 120; n++) await store.sessions.create(newSession(`s-${n}`, { title: `Hay ${n}` }))
    await store.sessions.create(newSession('s-clerk', { agent: 'clerk' }))
    await store.sessions.create(newSession('s-away', { org_id: 'org_2', title: 'Needle beta' }))
    expect(await find(store, 'needle')).toEqual(['s-old'])
    expect(await find(store, ' alpha  NEEDLE ')).toEqual(['s-old'])
    expect(await find(store, 'needle beta')).toEqual([])
    expect(await find(store, 'übung')).toEqual(['s-über'])
    expect(await find(store, 'S-ÜBER')).toEqual(['s-über'])
    expect(await find(store, 'clerk')).toEqual(['s-clerk'])
    expect(await find(store, 's-17')).toEqual(['s-17'])
  })

  test('the text is not interpreted as a pattern', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s-percent', { title: '50 % _done_ \\ 100' }))
    await store.sessions.create(newSession('s-plain', { title: '50 done 100' }))
    for (const text of ['%', '_', '\\', '_done_']) expect(await find(store, text)).toEqual(['s-percent'])
    expect(await find(store, "'")).toEqual([])
  })

  test('text results come in pages, newest first, each session once', async () => {
    const { store } = await open()
    for (let n = 0; n < 40; n++)
      await store.sessions.create(newSession(`s-${n}`, { title: n % 3 === 0 ? 'this' : 'that' }))
    const wanted = Array.from({ length: 14 }, (_, n) => `s-${39 - 3 * n}`)
    for (const limit of [1, 5, 14, 50]) expect(await find(store, 'this', limit)).toEqual(wanted)
  })

  test('one page searches a maximum number of sessions, and the next continues from there', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s-oldest', { title: 'needle' }))
    // No more at once than a busy Postgres accepts within the timeout of its clients.
    for (let from = 0; from < SEARCHED_AT_ONCE + 500; from += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => store.sessions.create(newSession(`s-${from + n}`))),
      )
    const first = await store.sessions.list({ org_id: 'org_1', text: 'needle', limit: 50 })
    expect(first.sessions).toEqual([])
    expect(first.next_cursor).not.toBeNull()
    expect(await find(store, 'needle')).toEqual(['s-oldest'])
  })
}
