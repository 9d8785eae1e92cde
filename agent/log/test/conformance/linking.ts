/** Commits that span sessions, links between them, and timers. */
import { expect, test } from 'vitest'
import type { EventDraft } from '@cairn/protocol'
import { CommitRefused, type LinkedCommit, type LogStore, type NewLink, type RowChange } from '@cairn/log'
import type { Bench } from './bench.ts'
import {
  claimOne,
  complete,
  ids,
  newSession,
  once,
  outcome,
  pause,
  readAll,
  refused,
  response,
  resume,
  say,
  spawned,
  statusOf,
  thought,
} from './fixture.ts'

const USED = { input_tokens: 10, output_tokens: 5, cost_usd: 0.25 }
const linkOf = (child_id: string, parent_id: string, more: Partial<NewLink> = {}): NewLink => ({
  child_id,
  parent_id,
  root_id: 'root',
  depth: 1,
  kind: 'worker',
  tool_call_id: 'call_1',
  task_id: null,
  attempt: null,
  ...more,
})
const open = (child: string, parent: string, limits = { max_open: 8, max_total: 50 }): RowChange => ({
  do: 'link.open',
  link: linkOf(child, parent),
  ...limits,
})
const settle = (child_id: string): RowChange => ({
  do: 'link.settle',
  child_id,
  root_id: 'root',
  status: 'complete',
  cause: null,
  ...USED,
})
const told = (child: string): EventDraft => outcome(child, USED)
const { id: _, ...CHILD } = newSession('any', { parent_id: 'root' })
const created = (session_id: string): LinkedCommit => ({ session_id, create: CHILD, events: [say('begin')] })

async function spawn(store: LogStore, child: string): Promise<void> {
  await store.commit({
    session_id: 'root',
    events: [spawned(child, { tool_call_id: 'call_1' })],
    rows: [open(child, 'root')],
    also: [created(child)],
  })
}

export function defineLinking({ open: openStore }: Bench): void {
  async function openRoot() {
    const opened = await openStore()
    await opened.store.sessions.create(newSession('root'))
    return opened
  }

  test('a commit creates a child with its first message, and writes to both logs', async () => {
    const { store } = await openRoot()
    const { session } = await store.commit({
      session_id: 'root',
      events: [spawned('child', { tool_call_id: 'call_1' })],
      rows: [open('child', 'root')],
      also: [created('child')],
    })
    expect(session).toMatchObject({ id: 'root', last_event_id: 1 })
    expect(ids(await readAll(store, 'root'))).toEqual([1])
    expect(await store.sessions.get('child')).toMatchObject({
      parent_id: 'root',
      last_event_id: 1,
      message_count: 1,
    })
    expect(
      (await store.sessions.list({ org_id: 'org_1', parent_id: 'root', limit: 10 })).sessions,
    ).toHaveLength(1)
    expect(await store.check()).toEqual([])
  })

  test('a new child is claimed with its link, and its end settles the link and writes to the parent atomically', async () => {
    const { store, clock } = await openRoot()
    await spawn(store, 'child')
    const [claim] = await store.leases.claim('w', 10, 60_000)
    expect(claim).toMatchObject({
      session: { id: 'child' },
      link: { ...linkOf('child', 'root'), status: 'open', settled_at: null, cause: null },
    })
    await store.commit({
      session_id: 'child',
      ...(claim === undefined ? {} : { fence: claim.fence }),
      events: [complete()],
      cursor: 'self',
      release_lease: true,
      rows: [settle('child')],
      also: [{ session_id: 'root', events: [told('child')] }],
    })
    expect(await store.links.get('child')).toMatchObject({
      status: 'complete',
      input_tokens: 10,
      cost_usd: 0.25,
      settled_at: clock.now(),
    })
    expect(await statusOf(store, 'child')).toBe('completed')
    expect(await store.leases.claim('w', 10, 60_000)).toMatchObject([{ session: { id: 'root' }, link: null }])
    expect(await store.check()).toEqual([])
  })

  test('a rejected part rolls back all parts, and the sessions stay as before', async () => {
    const { store } = await openRoot()
    await store.sessions.create(newSession('other'))
    await spawn(store, 'child')
    const before = await Promise.all(['root', 'child', 'other'].map(id => store.sessions.get(id)))
    const { session } = await refused(
      store,
      {
        session_id: 'root',
        events: [thought('x')],
        rows: [open('second', 'root')],
        also: [
          created('second'),
          { session_id: 'other', events: [pause()], revoke_lease: true },
          { session_id: 'child', events: [say('more')], expect_status: ['paused'] },
        ],
      },
      'wrong_status',
    )
    expect(session?.id).toBe('child')
    expect(await Promise.all(['root', 'child', 'other'].map(id => store.sessions.get(id)))).toEqual(before)
    expect(await store.sessions.get('second')).toBeNull()
    expect(await store.links.get('second')).toBeNull()
    // The same session again, and the log continues without a gap.
    await spawn(store, 'second')
    for (const [id, last] of [
      ['root', 2],
      ['child', 1],
      ['second', 1],
    ] as const)
      expect(ids(await readAll(store, id)).at(-1)).toBe(last)
    await store.commit({ session_id: 'other', events: [thought('still active')], expect_status: ['active'] })
    expect(await store.check()).toEqual([])
  })

  test('the guards of a commit cover all its parts: a stale lease writes nothing anywhere', async () => {
    const { store } = await openStore()
    const { fence } = await claimOne(store, 'root')
    await store.commit({ session_id: 'root', events: [], revoke_lease: true })
    await refused(
      store,
      {
        session_id: 'root',
        fence,
        events: [thought('late')],
        rows: [open('child', 'root')],
        also: [created('child')],
      },
      'stale_lease',
    )
    expect(await store.sessions.get('child')).toBeNull()
  })

  test('an existing session is not created again, and a missing one cannot take part', async () => {
    const { store } = await openRoot()
    await spawn(store, 'child')
    const again = await refused(store, { session_id: 'root', events: [], also: [created('child')] }, 'exists')
    expect(again.session?.id).toBe('child')
    await refused(
      store,
      { session_id: 'root', events: [thought('x')], also: [{ session_id: 'nobody', events: [say('x')] }] },
      'no_session',
    )
    expect((await store.sessions.get('root'))?.last_event_id).toBe(1)
    await expect(
      store.commit({
        session_id: 'root',
        events: [],
        also: [
          { session_id: 'child', events: [say('a')] },
          { session_id: 'child', events: [say('b')] },
        ],
      }),
    ).rejects.toThrow('named twice')
  })

  test('one of two concurrent outcomes of a child is written', async () => {
    const { store } = await openRoot()
    await spawn(store, 'child')
    const end = (text: string) =>
      store.commit({
        session_id: 'child',
        events: [thought(text)],
        rows: [settle('child')],
        also: [{ session_id: 'root', events: [say(text)] }],
      })
    const ends = await Promise.allSettled([end('one'), end('two')])
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const lost = ends.find(each => each.status === 'rejected')
    expect(lost?.reason).toMatchObject({ refusal: 'already_settled' } satisfies Partial<CommitRefused>)
    expect(await readAll(store, 'root')).toHaveLength(2)
  })

  test('an outcome composed before the last answer of the child is rejected, and a new one is written', async () => {
    const { store } = await openRoot()
    await spawn(store, 'child')
    const {
      input_tokens = 0,
      output_tokens = 0,
      tool_call_count = 0,
    } = (await store.sessions.get('child')) ?? {}
    const seen = { input_tokens, output_tokens, tool_call_count }
    await store.commit({ session_id: 'child', events: [response('an answer')] })
    const end = (counters: typeof seen) => ({
      session_id: 'root',
      events: [thought('stopped it')],
      also: [
        {
          session_id: 'child',
          events: [complete()],
          rows: [{ ...settle('child'), seen: counters } as RowChange],
        },
      ],
    })
    const { session } = await refused(store, end(seen), 'tree_moved')
    expect(session).toMatchObject({ id: 'child', output_tokens: 5 })
    await store.commit(end({ ...seen, input_tokens: 10, output_tokens: 5 }))
    expect(await store.links.get('child')).toMatchObject({ status: 'complete' })
  })

  test('an outcome reopens the parent from the given states, resume first, and leaves other states unchanged', async () => {
    const { store } = await openRoot()
    await spawn(store, 'one')
    await spawn(store, 'two')
    const tell = (child: string) =>
      store.commit({
        session_id: child,
        events: [complete()],
        rows: [settle(child)],
        also: [{ session_id: 'root', events: [told(child)], reopen: resume(), reopen_from: ['completed'] }],
      })
    await store.commit({ session_id: 'root', events: [complete()] })
    await tell('one')
    expect((await readAll(store, 'root')).slice(-2).map(({ type }) => type)).toEqual([
      'session.resume',
      'worker.complete',
    ])
    expect(await statusOf(store, 'root')).toBe('active')
    await store.commit({ session_id: 'root', events: [pause()] })
    await tell('two')
    expect(await statusOf(store, 'root')).toBe('paused')
    expect((await readAll(store, 'root')).slice(-2).map(({ type }) => type)).toEqual([
      'session.pause',
      'worker.complete',
    ])
    expect(await store.check()).toEqual([])
  })

  test('a stop over several sessions revokes all their leases', async () => {
    const { store } = await openRoot()
    for (const child of ['one', 'two']) await spawn(store, child)
    const claims = await store.leases.claim('w', 10, 60_000)
    await store.commit({
      session_id: 'root',
      events: [thought('stop')],
      also: claims.map(({ session }) => ({
        session_id: session.id,
        events: [complete()],
        revoke_lease: true,
        cursor: 'self',
      })),
    })
    expect(claims).toHaveLength(2)
    for (const { session, fence } of claims)
      await refused(store, { session_id: session.id, fence, events: [thought('late')] }, 'stale_lease')
    expect(await store.leases.claim('w', 10, 60_000)).toEqual([])
  })

  test('a parent has a maximum of open children, and a tree a maximum of children per day', async () => {
    const { store, clock } = await openRoot()
    const make = (child: string, limits: { max_open: number; max_total: number }) => ({
      session_id: 'root',
      events: [],
      rows: [open(child, 'root', limits)],
      also: [created(child)],
    })
    await store.commit(make('one', { max_open: 2, max_total: 3 }))
    await store.commit(make('two', { max_open: 2, max_total: 3 }))
    await refused(store, make('three', { max_open: 2, max_total: 3 }), 'too_many_open')
    await store.commit({ session_id: 'one', events: [], rows: [settle('one')] })
    await store.commit(make('three', { max_open: 2, max_total: 3 }))
    await store.commit({ session_id: 'two', events: [], rows: [settle('two')] })
    await refused(store, make('four', { max_open: 2, max_total: 3 }), 'too_many_children')
    clock.advance(24 * 3600 * 1000 + 1)
    await store.commit(make('four', { max_open: 2, max_total: 3 }))
    expect(new Set((await store.links.children('root')).map(({ child_id }) => child_id))).toEqual(
      new Set(['one', 'two', 'three', 'four']),
    )
    expect((await store.links.children('root', { open: true })).map(each => each.child_id)).toEqual([
      'three',
      'four',
    ])
  })

  test('a decision based on an outdated version of the tree is rejected', async () => {
    const { store } = await openRoot()
    expect(await store.links.tree('root')).toEqual({ version: 0, open: [] })
    await spawn(store, 'child')
    const seen = await store.links.tree('root')
    expect(seen.open.map(({ child_id }) => child_id)).toEqual(['child'])
    const act = (text: string) => ({
      session_id: 'root',
      events: [thought(text)],
      rows: [{ do: 'tree.expect', root_id: 'root', version: seen.version } as const],
    })
    await store.commit(act('as it was'))
    await store.commit({ session_id: 'child', events: [], rows: [settle('child')] })
    await refused(store, act('as it is no more'), 'tree_moved')
    const now = await store.links.tree('root')
    expect(now.open).toEqual([])
    expect(now.version).toBeGreaterThan(seen.version)
  })

  test('a pause of a child by its parent is marked, and the mark is removed', async () => {
    const { store } = await openRoot()
    await spawn(store, 'child')
    const mark = async (paused_by_parent: boolean) => {
      await store.commit({
        session_id: 'root',
        events: [],
        rows: [{ do: 'link.mark', child_id: 'child', root_id: 'root', paused_by_parent }],
      })
      return (await store.links.get('child'))?.paused_by_parent
    }
    const { version } = await store.links.tree('root')
    expect([await mark(true), await mark(false)]).toEqual([true, false])
    // The version changes: a resume composed without the mark would leave the child paused.
    expect((await store.links.tree('root')).version).toBe(version + 2)
  })

  test('a timer is claimed when due, by one claimer at a time, and fires once', async () => {
    const { store, clock } = await openRoot()
    const set = (id: string, after_ms: number): RowChange => ({
      do: 'timer.set',
      id,
      kind: 'delegation',
      session_id: 'root',
      after_ms,
      data: { of: id },
    })
    await store.commit({
      session_id: 'root',
      events: [],
      rows: [set('soon', 1000), set('later', 5000), set('dropped', 1000)],
    })
    await store.commit({
      session_id: 'root',
      events: [],
      rows: [
        { do: 'timer.drop', id: 'dropped' },
        { do: 'timer.drop', id: 'never there' },
      ],
    })
    const claim = () => store.timers.claim('p1', 10, 30_000)
    expect(await claim()).toEqual([])
    clock.advance(1000)
    const [first, ...more] = await claim()
    expect(more).toEqual([])
    expect(first).toMatchObject({ id: 'soon', kind: 'delegation', session_id: 'root', data: { of: 'soon' } })
    expect(await claim()).toEqual([])
    // The claimer died; the claim expires and another gets it.
    clock.advance(30_000)
    const again = (await claim()).find(({ id }) => id === 'soon')
    if (first === undefined || again === undefined) throw new Error('the timer was not claimed')
    const fire = ({ id, claim: held }: typeof first) => ({
      session_id: 'root',
      events: [thought('fired')],
      rows: [{ do: 'timer.fire', id, claim: held } as const],
    })
    await refused(store, fire(first), 'timer_gone')
    await store.commit(fire(again))
    await refused(store, fire(again), 'timer_gone')
    // A timer that is set again under the same id is unclaimed.
    await store.commit({ session_id: 'root', events: [], rows: [set('later', 0)] })
    expect((await claim()).map(({ id }) => id)).toEqual(['later'])
  })

  test('a watcher of any session in the commit is notified of its part', async () => {
    const { store } = await openRoot()
    await spawn(store, 'child')
    const heard = once()
    const work = once()
    store.events.watch('root', heard.call)
    store.leases.watch(work.call)
    await store.commit({
      session_id: 'child',
      events: [thought('done')],
      also: [{ session_id: 'root', events: [say('the outcome')] }],
    })
    await Promise.all([heard.called, work.called])
    expect(ids(await store.events.read('root', 0, 10))).toEqual([1, 2])
  })
}
