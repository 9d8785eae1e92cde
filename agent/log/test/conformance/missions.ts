/** Missions: one active per session, moved under a guard, and listed with access control. */
import { expect, test } from 'vitest'
import type { LogStore, MissionChange, NewMission, RowChange } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, readAll, refused, thought } from './fixture.ts'

const mission = (mission_id: string, more: Partial<NewMission> = {}): NewMission => ({
  mission_id,
  session_id: 'root',
  org_id: 'org_1',
  created_by: 'alice',
  created_by_kind: 'user',
  kind: 'mission',
  definition: { description: `reach ${mission_id}`, rubric: 'it is there', max_iterations: 3 },
  ...more,
})
const add = (id: string, more?: Partial<NewMission>): RowChange => ({
  do: 'mission.add',
  mission: mission(id, more),
})
type Move = Extract<MissionChange, { do: 'mission.move' }>
const move = (
  mission_id: string,
  from: Move['from'],
  to: Move['to'],
  more: Partial<Move> = {},
): RowChange => ({
  do: 'mission.move',
  mission_id,
  root_id: 'root',
  from,
  to,
  ...more,
})

export function defineMissions({ open }: Bench): void {
  async function openRoot() {
    const opened = await open()
    await opened.store.sessions.create(newSession('root'))
    return opened
  }
  const act = (store: LogStore, session_id: string, ...rows: RowChange[]) =>
    store.commit({ session_id, events: [thought('acts')], rows })

  test('a mission stores the values of each move and its end time', async () => {
    const { store, clock } = await openRoot()
    const begun = clock.now()
    await act(store, 'root', add('one'))
    expect(await store.missions.get('one')).toEqual({
      ...mission('one'),
      key: expect.any(Number),
      status: 'active',
      iteration: 0,
      state: {},
      created_at: begun,
      ended_at: null,
    })
    const last_evaluation = { result: 'needs_revision', explanation: 'e', feedback: 'f', at: 'then' }
    await act(store, 'root', move('one', ['active'], 'active', { iteration: 1, state: { last_evaluation } }))
    await act(store, 'root', move('one', ['active'], 'paused', { state: { reason: 'lunch' } }))
    expect(await store.missions.current('root')).toMatchObject({
      status: 'paused',
      iteration: 1,
      state: { last_evaluation, reason: 'lunch' },
    })
    clock.advance(1000)
    await act(store, 'root', move('one', ['paused', 'blocked'], 'cancelled'))
    expect(await store.missions.get('one')).toMatchObject({
      status: 'cancelled',
      ended_at: begun + 1000,
    })
    expect(await store.missions.current('root')).toBeNull()
    expect(await store.missions.get('none')).toBeNull()
    expect(await store.check()).toEqual([])
  })

  test('a session has one active mission, and one of two concurrent ones is added', async () => {
    const { store } = await openRoot()
    const added = await Promise.allSettled([act(store, 'root', add('one')), act(store, 'root', add('two'))])
    expect(added.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(added[1]).toMatchObject({ reason: { refusal: 'mission_moved' } })
    await refused(store, { session_id: 'root', events: [], rows: [add('one')] }, 'exists')
    await act(store, 'root', move('one', ['active'], 'satisfied'))
    await refused(store, { session_id: 'root', events: [], rows: [add('one')] }, 'exists')
    await act(store, 'root', add('two'))
    expect((await store.missions.current('root'))?.mission_id).toBe('two')
  })

  test('the first of two moves from one state is made, and the other writes nothing', async () => {
    const { store } = await openRoot()
    await act(store, 'root', add('one'))
    const moves = await Promise.allSettled([
      act(store, 'root', move('one', ['active'], 'satisfied')),
      act(store, 'root', move('one', ['active'], 'paused')),
    ])
    expect(moves.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(moves[1]).toMatchObject({ reason: { refusal: 'mission_moved' } })
    expect(await readAll(store, 'root')).toHaveLength(2)
    await refused(
      store,
      { session_id: 'root', events: [], rows: [move('none', ['active'], 'paused')] },
      'mission_moved',
    )
  })

  test('a decision on a tree is rejected if its mission was added or moved since', async () => {
    const { store } = await openRoot()
    for (const change of [add('one'), move('one', ['active'], 'paused')]) {
      const { version } = await store.links.tree('root')
      await act(store, 'root', change)
      await refused(
        store,
        { session_id: 'root', events: [], rows: [{ do: 'tree.expect', root_id: 'root', version }] },
        'tree_moved',
      )
    }
  })

  test('missions are listed newest first in pages, with filters', async () => {
    const { store } = await open()
    const names = ['a', 'b', 'c', 'd']
    for (const [index, name] of names.entries()) {
      await store.sessions.create(newSession(name))
      const created_by = index % 2 === 0 ? 'alice' : 'bob'
      await act(store, name, add(`m-${name}`, { session_id: name, created_by }))
    }
    await act(store, 'd', move('m-d', ['active'], 'failed', { root_id: 'd' }))
    const list = async (query: Partial<Parameters<typeof store.missions.list>[0]>) => {
      const { missions, next_cursor } = await store.missions.list({
        org_id: 'org_1',
        limit: 10,
        ...query,
      })
      return [missions.map(({ mission_id }) => mission_id), next_cursor] as const
    }
    expect(await list({})).toEqual([['m-d', 'm-c', 'm-b', 'm-a'], null])
    expect(await list({ created_by: 'alice' })).toEqual([['m-c', 'm-a'], null])
    expect(await list({ status: ['failed', 'paused'] })).toEqual([['m-d'], null])
    expect(await list({ session_id: 'b' })).toEqual([['m-b'], null])
    expect(await list({ org_id: 'other' })).toEqual([[], null])
    const [first, cursor] = await list({ limit: 3 })
    expect(first).toEqual(['m-d', 'm-c', 'm-b'])
    expect(await list({ limit: 3, cursor: cursor! })).toEqual([['m-a'], null])
  })

  test('a secret in a mission or a verdict is redacted in every row', async () => {
    const { store } = await openRoot()
    const secret = `sk-ant-api03-${'a1B2'.repeat(8)}`
    await act(
      store,
      'root',
      add('one', { definition: { description: `use ${secret}`, rubric: secret, max_iterations: 1 } }),
    )
    await act(store, 'root', move('one', ['active'], 'paused', { state: { reason: secret } }))
    expect(JSON.stringify(await store.missions.get('one'))).not.toContain(secret)
  })
}
