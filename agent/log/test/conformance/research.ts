/** Research: a branch is harvested once, and parallel branches number sources without gaps. */
import { expect, test } from 'vitest'
import type { LogStore, NewSource, RowChange } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, readAll, refused, thought } from './fixture.ts'

const add = (key: string): RowChange => ({
  do: 'branch.add',
  branch: { run_id: 'run', key, worker_id: `w-${key}`, question: `what of ${key}?` },
})
const harvest = (key: string, score: number | null = 50): RowChange => ({
  do: 'branch.harvest',
  run_id: 'run',
  key,
  state: { status: 'complete', score, findings: `found ${key}` },
})
const source = (number: number, more: Partial<NewSource> = {}): RowChange => ({
  do: 'source.add',
  source: {
    run_id: 'run',
    number,
    worker_id: 'w-1',
    fetch_call_id: 'call',
    branch_key: '1',
    url: 'https://a.example',
    title: 'A',
    quote: 'as it is',
    claim: 'it is so',
    fetched_at: '2026-01-01T00:00:00.000Z',
    ...more,
  },
})

const mission: RowChange = {
  do: 'mission.add',
  mission: {
    mission_id: 'run',
    session_id: 'a',
    org_id: 'org_1',
    created_by: 'user_1',
    created_by_kind: 'user',
    kind: 'research',
    definition: { description: 'd', rubric: 'r', max_iterations: 2 },
  },
}

export function defineResearch({ open }: Bench): void {
  async function openTwo() {
    const opened = await open()
    await opened.store.sessions.create(newSession('a'))
    await opened.store.sessions.create(newSession('b'))
    await opened.store.commit({ session_id: 'a', events: [], rows: [mission] })
    return opened
  }
  const act = (store: LogStore, session_id: string, ...rows: RowChange[]) =>
    store.commit({ session_id, events: [thought('acts')], rows })

  test('a branch is harvested once, and its state is extended', async () => {
    const { store, clock } = await openTwo()
    const made = clock.now()
    await act(store, 'a', add('1'), add('1.1'))
    await refused(store, { session_id: 'a', events: [], rows: [add('1')] }, 'exists')
    clock.advance(1000)
    await act(store, 'a', harvest('1'))
    await refused(store, { session_id: 'a', events: [], rows: [harvest('1', 90)] }, 'research_moved')
    await refused(store, { session_id: 'a', events: [], rows: [harvest('2')] }, 'research_moved')
    // If one branch cannot be harvested, the whole commit is rejected.
    await refused(
      store,
      { session_id: 'a', events: [], rows: [harvest('1.1'), harvest('1')] },
      'research_moved',
    )
    await act(store, 'a', { do: 'branch.mark', run_id: 'run', key: '1', state: { adopted_at: 'then' } })
    expect(await store.research.branches('run')).toEqual([
      {
        run_id: 'run',
        key: '1',
        worker_id: 'w-1',
        question: 'what of 1?',
        state: { status: 'complete', score: 50, findings: 'found 1', adopted_at: 'then' },
        created_at: made,
        harvested_at: made + 1000,
      },
      expect.objectContaining({ key: '1.1', state: {}, harvested_at: null }),
    ])
    expect(await store.research.branches('none')).toEqual([])
    expect(await readAll(store, 'a')).toHaveLength(3)
  })

  /** Promise 14.5: Two branches that cite at the same time get different source numbers without a gap. */
  test('the second of two sessions that take one number is rejected, and there is no gap', async () => {
    const { store } = await openTwo()
    const both = await Promise.allSettled([
      act(store, 'a', source(1)),
      act(store, 'b', source(1, { quote: 'too late' })),
    ])
    expect(both.filter(({ status }) => status === 'rejected')).toMatchObject([
      { reason: { refusal: 'research_moved' } },
    ])
    await refused(store, { session_id: 'b', events: [], rows: [source(3)] }, 'research_moved')
    await act(store, 'b', source(2), source(3))
    expect((await store.research.sources('run')).map(({ number }) => number)).toEqual([1, 2, 3])
    expect(await store.research.sources('none')).toEqual([])
  })

  test('a secret in a question, a finding or a source is redacted in every row', async () => {
    const { store } = await openTwo()
    const secret = `sk-ant-api03-${'a1B2'.repeat(8)}`
    await act(
      store,
      'a',
      { do: 'branch.add', branch: { run_id: 'run', key: '1', worker_id: 'w', question: `why ${secret}?` } },
      source(1, { quote: secret, url: `https://a.example/?key=${secret}` }),
    )
    await act(store, 'a', { do: 'branch.harvest', run_id: 'run', key: '1', state: { findings: secret } })
    const rows = [await store.research.branches('run'), await store.research.sources('run')]
    expect(JSON.stringify(rows)).not.toContain(secret)
  })
}
