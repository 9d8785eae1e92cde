/** Reads of a session tree: descendants, the position of a session, and the inbox items of a subtree. */
import { expect, test } from 'vitest'
import { type LinkedCommit, type LogStore, type NewLink, type RowChange, withRows } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, refused, say, thought } from './fixture.ts'

const LIMITS = { max_open: 8, max_total: 50 }
type Child = Pick<NewLink, 'child_id' | 'parent_id' | 'depth'>
const open = (child: Child): RowChange => ({
  do: 'link.open',
  link: {
    root_id: 'root',
    kind: 'worker',
    tool_call_id: null,
    task_id: null,
    attempt: null,
    ...child,
  },
  ...LIMITS,
})
const made = ({ child_id, parent_id }: Child): LinkedCommit => {
  const { id, ...create } = newSession(child_id, { parent_id })
  return { session_id: id, create, events: [say(`be ${child_id}`)] }
}
const spawn = (store: LogStore, child: Child) =>
  store.commit({
    session_id: child.parent_id,
    events: [thought(`spawns ${child.child_id}`)],
    rows: [open(child)],
    also: [made(child)],
  })
const settle = (store: LogStore, child_id: string, cost_usd: number) =>
  store.commit({
    session_id: child_id,
    events: [],
    rows: [
      {
        do: 'link.settle',
        child_id,
        root_id: 'root',
        status: 'complete',
        cause: null,
        input_tokens: 1,
        output_tokens: 1,
        cost_usd,
      },
    ],
  })
const raise = (store: LogStore, session_id: string) =>
  store.commit({
    session_id,
    events: [
      withRows(say('raise'), {
        do: 'inbox.open',
        item: {
          id: `of ${session_id}`,
          kind: 'governance_gate',
          title: 'Run it?',
          body: null,
          payload: {},
          expires_at: null,
          tool_call_id: 'call',
        },
      }),
    ],
  })

export function defineFamilies({ open: openStore }: Bench): void {
  /** root: a, b; below a: c. And another session. */
  async function plantTree() {
    const opened = await openStore()
    const { store, clock } = opened
    for (const id of ['root', 'other']) await store.sessions.create(newSession(id))
    for (const child of [
      { child_id: 'a', parent_id: 'root', depth: 1 },
      { child_id: 'b', parent_id: 'root', depth: 1 },
      { child_id: 'c', parent_id: 'a', depth: 2 },
    ]) {
      clock.advance(10)
      await spawn(store, child)
    }
    return opened
  }

  test('descendants are listed newest first, from a root and from the middle, in pages', async () => {
    const { store } = await plantTree()
    const below = async (id: string, limit = 10, cursor?: string) => {
      const page = await store.links.descendants(id, {
        limit,
        ...(cursor === undefined ? {} : { cursor }),
      })
      return { ids: page.links.map(link => link.child_id), next: page.next_cursor }
    }
    expect(await below('root')).toEqual({ ids: ['c', 'b', 'a'], next: null })
    expect(await below('a')).toEqual({ ids: ['c'], next: null })
    for (const leaf of ['b', 'c', 'other', 'nobody'])
      expect(await below(leaf)).toEqual({ ids: [], next: null })
    const first = await below('root', 2)
    expect(first.ids).toEqual(['c', 'b'])
    expect(await below('root', 2, first.next ?? '')).toEqual({ ids: ['a'], next: null })
    await settle(store, 'c', 1)
    for (const [status, ids] of [
      ['open', ['b', 'a']],
      ['complete', ['c']],
      ['failed', []],
    ] as const)
      expect(
        (await store.links.descendants('root', { status: [status], limit: 10 })).links.map(l => l.child_id),
      ).toEqual(ids)
    for (const cursor of ['', 'x', '1.', "1.'", '.a'])
      await expect(store.links.descendants('root', { limit: 1, cursor })).rejects.toMatchObject({
        code: 'invalid_cursor',
      })
  })

  test('the position of a session and the usage of its ended children follow from the links', async () => {
    const { store } = await plantTree()
    await settle(store, 'c', 0.1)
    await settle(store, 'a', 0.3)
    expect(await store.links.trees(['c', 'root', 'other', 'a'])).toEqual([
      { root_id: 'root', depth: 2, open_children: 0, children_cost_usd: 0 },
      { root_id: 'root', depth: 0, open_children: 1, children_cost_usd: 0.3 },
      { root_id: 'other', depth: 0, open_children: 0, children_cost_usd: 0 },
      { root_id: 'root', depth: 1, open_children: 0, children_cost_usd: 0.1 },
    ])
    expect(await store.links.trees([])).toEqual([])
  })

  test('an inbox item names the root of its session in every read', async () => {
    const { store } = await plantTree()
    for (const id of ['other', 'root', 'c']) await raise(store, id)
    const rootOf = async (id: string) => (await store.inbox.get(`of ${id}`))?.root_session_id
    expect([await rootOf('other'), await rootOf('root'), await rootOf('c')]).toEqual([
      'other',
      'root',
      'root',
    ])
    expect(
      (await store.inbox.list({ org_id: 'org_1', limit: 10 })).items.map(item => item.root_session_id),
    ).toEqual(['root', 'root', 'other'])
    expect((await store.inbox.markRead('of c'))?.root_session_id).toBe('root')
    const answer = {
      session_id: 'c',
      events: [],
      rows: [{ do: 'inbox.answer', id: 'of c', decision: 'approve', status: 'responded' } as const],
    }
    await store.commit(answer)
    expect((await refused(store, answer, 'already_answered')).item?.root_session_id).toBe('root')
  })

  test('the inbox of a session can include its descendants, and never includes others', async () => {
    const { store } = await plantTree()
    for (const id of ['other', 'root', 'b', 'c']) await raise(store, id)
    const listed = async (session_id: string, descendants?: true) =>
      (
        await store.inbox.list({
          org_id: 'org_1',
          session_id,
          limit: 10,
          ...(descendants && { descendants }),
        })
      ).items.map(item => item.session_id)
    expect(await listed('root')).toEqual(['root'])
    expect(await listed('root', true)).toEqual(['c', 'b', 'root'])
    expect(await listed('a', true)).toEqual(['c'])
    expect(await listed('b', true)).toEqual(['b'])
    expect(await listed('other', true)).toEqual(['other'])
    expect(
      (await store.inbox.list({ org_id: 'org_2', session_id: 'root', descendants: true, limit: 10 })).items,
    ).toEqual([])
  })

  test('sessions and their last events are read by id, and missing ids are left out', async () => {
    const { store } = await plantTree()
    expect((await store.sessions.getMany(['c', 'nobody', 'root'])).map(({ id }) => id).toSorted()).toEqual([
      'c',
      'root',
    ])
    const last = await store.events.last(['root', 'c', 'other', 'nobody'])
    expect([...last].map(([id, event]) => [id, event.id, event.type]).toSorted()).toEqual([
      ['c', 1, 'user.message'],
      ['root', 2, 'llm.thinking'],
    ])
    expect(JSON.parse(last.get('c')?.json ?? '')).toMatchObject({ session_id: 'c', id: 1 })
  })
}
