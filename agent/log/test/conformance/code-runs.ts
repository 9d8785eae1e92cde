/** Coding runs: one per source event, one active per session, and one end. */
import { expect, test } from 'vitest'
import type { CodeRunChange, LogStore } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, refused, thought } from './fixture.ts'

const begin = (run_id: string, source_event_id: number, session_id = 'one'): CodeRunChange => ({
  do: 'code.begin',
  run: { run_id, session_id, source_event_id, agent: 'cairn' },
})
const move = (run_id: string, more: Omit<Extract<CodeRunChange, { do: 'code.move' }>, 'do' | 'run_id'>) =>
  ({ do: 'code.move', run_id, ...more }) as const

export function defineCodeRuns({ open }: Bench): void {
  async function opened() {
    const bench = await open()
    await bench.store.sessions.create(newSession('one'))
    await bench.store.sessions.create(newSession('two'))
    return bench
  }
  const changing = (session_id: string, ...rows: CodeRunChange[]) => ({
    session_id,
    events: [thought('acts')],
    rows,
  })
  const act = (store: LogStore, session_id: string, ...rows: CodeRunChange[]) =>
    store.commit(changing(session_id, ...rows))

  test('a run stores the values of each move until it is done', async () => {
    const { store, clock } = await opened()
    const started_at = clock.now()
    await act(store, 'one', begin('a', 7))
    await act(store, 'one', move('a', { acp_session_id: 'theirs', input_tokens: 5 }))
    await act(store, 'one', move('a', { state: 'parked', attempts: 1 }))
    const [run] = await store.codeRuns.list('one', 10)
    expect({ ...run }).toEqual({
      run_id: 'a',
      session_id: 'one',
      source_event_id: 7,
      agent: 'cairn',
      acp_session_id: 'theirs',
      state: 'parked',
      attempts: 1,
      input_tokens: 5,
      output_tokens: 0,
      started_at,
      ended_at: null,
    })
    clock.advance(1000)
    await act(store, 'one', move('a', { state: 'done', output_tokens: 3 }))
    expect((await store.codeRuns.list('one', 10))[0]).toMatchObject({
      state: 'done',
      output_tokens: 3,
      ended_at: started_at + 1000,
    })
    expect(await store.codeRuns.list('two', 10)).toEqual([])
    expect(await store.check()).toEqual([])
  })

  test('a source event has at most one run ever, and a session at most one active run', async () => {
    const { store, clock } = await opened()
    await act(store, 'one', begin('a', 7))
    await refused(store, changing('one', begin('b', 8)), 'code_run_exists')
    await act(store, 'two', begin('c', 7, 'two'))
    await act(store, 'one', move('a', { state: 'done' }))
    await refused(store, changing('one', begin('b', 7)), 'code_run_exists')
    clock.advance(1)
    await act(store, 'one', begin('b', 8))
    expect((await store.codeRuns.list('one', 1)).map(({ run_id }) => run_id)).toEqual(['b'])
  })

  /**
   * Promise 14.18, 9: On each store a source event has one coding run, a session one active run, and a run
   * one end.
   */
  test('one of two concurrent ends is written with its events, and the other writes nothing', async () => {
    const { store } = await opened()
    await act(store, 'one', begin('a', 7))
    const ends = await Promise.allSettled([
      act(store, 'one', move('a', { state: 'done' })),
      act(store, 'one', move('a', { state: 'done' })),
    ])
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await store.events.read('one', 0, 10)).toHaveLength(2)
    await refused(store, changing('one', move('a', { input_tokens: 1 })), 'code_run_ended')
    await refused(store, changing('two', move('a', { state: 'done' })), 'code_run_ended')
  })
}
