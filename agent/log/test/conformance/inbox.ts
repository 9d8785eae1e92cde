/** Inbox items of the agent, the grants that result from them, and artifacts. */
import { expect, test } from 'vitest'
import {
  type Commit,
  type Decider,
  type EventRow,
  type LogStore,
  type NewInboxItem,
  type RowChange,
  withRows,
} from '@cairn/log'
import { newSession, once, refused, say } from './fixture.ts'
import type { Bench } from './bench.ts'

type Item = NewInboxItem
const openItem = (item: Partial<Item> & { id: string }): EventRow => ({
  do: 'inbox.open',
  item: {
    kind: 'governance_gate',
    title: 'Run terminal?',
    body: null,
    payload: { tool_name: 'terminal' },
    expires_at: null,
    tool_call_id: null,
    ...item,
  },
})
const answerItem = (id: string, decision: string, decided_by?: Decider): Commit => ({
  session_id: 's',
  events: [],
  rows: [{ do: 'inbox.answer', id, decision, status: 'responded', ...(decided_by && { decided_by }) }],
})
const answerCall = (tool_call_id: string, decided_by?: Decider): Commit => ({
  session_id: 's',
  events: [],
  rows: [
    {
      do: 'inbox.answer_call',
      tool_call_id,
      kind: 'input_required',
      decision: 'answered',
      ...(decided_by && { decided_by }),
    },
  ],
})
const consume = (session_id: string, id: string, tool: string, arguments_hash: string): Commit => ({
  session_id,
  events: [],
  rows: [{ do: 'grant.consume', id, tool, arguments_hash }],
})
const addArtifact = (artifact_id: string): RowChange => ({
  do: 'artifact.add',
  artifact: { artifact_id, name: `${artifact_id}.md`, kind: 'markdown', version: 1, size: 4 },
  spec: { kind: 'markdown', content: `# ${artifact_id}` },
})
const raise = (store: LogStore, session_id: string, ...items: (Partial<Item> & { id: string })[]) =>
  store.commit({ session_id, events: [withRows(say('raise'), ...items.map(openItem))] })

export function defineInbox({ open }: Bench): void {
  test('an item names its event and keeps its payload, and listings hide its private fields', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await raise(store, 's', {
      id: 'i',
      tool_call_id: 'call',
      private: { hash: 'abc' },
      expires_at: clock.now() + 1000,
    })
    const created_at = new Date(clock.now()).toISOString()
    const item = {
      id: 'i',
      session_id: 's',
      root_session_id: 's',
      agent: 'assistant',
      session_title: null,
      source_event_id: 1,
      kind: 'governance_gate',
      status: 'pending',
      title: 'Run terminal?',
      body: null,
      payload: { tool_name: 'terminal' },
      decision: null,
      read_at: null,
      created_at,
      expires_at: new Date(clock.now() + 1000).toISOString(),
      responded_at: null,
    }
    expect(await store.inbox.get('i')).toEqual({
      ...item,
      org_id: 'org_1',
      created_by: 'user_1',
      private: { hash: 'abc' },
    })
    expect((await store.inbox.list({ org_id: 'org_1', limit: 10 })).items).toEqual([item])
    expect(await store.inbox.get('other')).toBeNull()
  })

  test('an item names the event that opened it, whatever its position in the commit', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({
      session_id: 's',
      events: [
        say('one'),
        withRows(say('two'), openItem({ id: 'of two' })),
        say('three'),
        withRows(say('four'), addArtifact('a'), openItem({ id: 'of four' }), openItem({ id: 'too' })),
      ],
      rows: [{ do: 'inbox.expire_all', decision: 'old' }],
    })
    const { items } = await store.inbox.list({ org_id: 'org_1', limit: 10 })
    expect(items.map(item => [item.id, item.source_event_id, item.status]).toSorted()).toEqual([
      ['of four', 4, 'pending'],
      ['of two', 2, 'pending'],
      ['too', 4, 'pending'],
    ])
  })

  test('an item is answered once, and the second answer is rejected with the first one', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await raise(store, 's', { id: 'i' })
    const both = await Promise.allSettled([
      store.commit(answerItem('i', 'approve')),
      store.commit(answerItem('i', 'reject')),
    ])
    expect(both.map(each => each.status)).toEqual(['fulfilled', 'rejected'])
    const refusal = await refused(store, answerItem('i', 'reject'), 'already_answered')
    expect(refusal.item).toMatchObject({ id: 'i', status: 'responded', decision: 'approve' })
    expect(refusal.session?.id).toBe('s')
  })

  test('an item cannot be answered through another session', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t'))
    await raise(store, 's', { id: 'i' })
    await refused(
      store,
      {
        session_id: 't',
        events: [],
        rows: [{ do: 'inbox.answer', id: 'i', decision: 'approve', status: 'responded' }],
      },
      'already_answered',
    )
    expect((await store.inbox.get('i'))?.status).toBe('pending')
  })

  test('an acknowledgement is taken back, and no other answer is', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await raise(store, 's', { id: 'done', kind: 'task_complete' }, { id: 'gate', kind: 'governance_gate' })
    const reopen = (id: string, session_id = 's'): Commit => ({
      session_id,
      events: [],
      rows: [{ do: 'inbox.reopen', id }],
    })
    await refused(store, reopen('done'), 'already_answered')
    await store.commit({
      session_id: 's',
      events: [],
      rows: [
        {
          do: 'inbox.answer',
          id: 'done',
          decision: 'acknowledged',
          status: 'acknowledged',
          decided_by: { kind: 'user', id: 'ann' },
        },
      ],
    })
    await store.sessions.create(newSession('t'))
    await refused(store, reopen('done', 't'), 'already_answered')
    await store.commit(reopen('done'))
    const item = await store.inbox.get('done')
    expect(item).toMatchObject({ status: 'pending', decision: null, responded_at: null })
    expect(item).not.toHaveProperty('decided_by_user_id')
    await store.commit(answerItem('gate', 'approve'))
    await refused(store, reopen('gate'), 'already_answered')
  })

  test('an item is found by its tool call', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await raise(
      store,
      's',
      { id: 'q', kind: 'input_required', tool_call_id: 'call_1' },
      { id: 'r', kind: 'input_required', tool_call_id: 'call_2' },
    )
    await store.commit(answerCall('call_2', { kind: 'service_account', id: 'judge' }))
    expect(await store.inbox.get('r')).toMatchObject({
      status: 'responded',
      decision: 'answered',
      decided_by_service_account_id: 'judge',
    })
    expect((await store.inbox.get('q'))?.status).toBe('pending')
    await refused(store, answerCall('call_2'), 'already_answered')
    expect((await refused(store, answerCall('call_9'), 'already_answered')).item).toBeNull()
  })

  test('an expired item is listed as expired, rejects answers, and blocks nothing', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await raise(store, 's', { id: 'i', expires_at: clock.now() + 1000 })
    expect((await store.sessions.get('s'))?.waiting_on).toBe('approval')
    clock.advance(1000)
    expect((await store.inbox.list({ org_id: 'org_1', status: ['pending'], limit: 10 })).items).toEqual([])
    expect((await store.inbox.list({ org_id: 'org_1', status: ['expired'], limit: 10 })).items).toMatchObject(
      [{ id: 'i', status: 'expired' }],
    )
    expect((await store.sessions.get('s'))?.waiting_on).toBeNull()
    expect(
      (
        await refused(
          store,
          {
            session_id: 's',
            events: [],
            rows: [{ do: 'inbox.answer', id: 'i', decision: 'approve', status: 'responded' }],
          },
          'already_answered',
        )
      ).item?.status,
    ).toBe('expired')
    // The server itself may still record that it expired.
    await store.commit({
      session_id: 's',
      events: [],
      rows: [{ do: 'inbox.answer', id: 'i', decision: 'expired', status: 'expired' }],
    })
    expect((await store.inbox.get('i'))?.decision).toBe('expired')
  })

  test('all pending items of a session expire together; answered and foreign ones stay', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t'))
    await raise(store, 's', { id: 'a' }, { id: 'b', kind: 'input_required' }, { id: 'c' })
    await raise(store, 't', { id: 'd' })
    await store.commit(answerItem('c', 'approve'))
    const told: string[] = []
    const both = once()
    const stop = store.inbox.watch('org_1', itemId => {
      told.push(itemId)
      if (told.length === 2) both.call()
    })
    const { session } = await store.commit({
      session_id: 's',
      events: [],
      rows: [{ do: 'inbox.expire_all', decision: 'archived' }],
      set: { status: 'archived' },
    })
    await both.called
    stop()
    expect(told.toSorted()).toEqual(['a', 'b'])
    expect(session).toMatchObject({ status: 'archived', waiting_on: null })
    const items = await Promise.all(['a', 'b', 'c', 'd'].map(id => store.inbox.get(id)))
    expect(items.map(item => [item?.status, item?.decision])).toEqual([
      ['expired', 'archived'],
      ['expired', 'archived'],
      ['responded', 'approve'],
      ['pending', null],
    ])
    expect(items[0]?.responded_at).toBe(new Date(clock.now()).toISOString())
    await refused(store, answerItem('a', 'approve'), 'already_answered')
    // Expiring no items is not an error.
    await store.commit({ session_id: 's', events: [], rows: [{ do: 'inbox.expire_all', decision: 'x' }] })
  })

  test('a stop expires questions and actions, but no approval, proposal, task or schedule', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const action = (action_type: string, more = {}) =>
      ({ kind: 'action_required', payload: { title: 'x', action_type, ...more } }) as const
    await raise(
      store,
      's',
      { id: 'gate' },
      { id: 'question', kind: 'input_required' },
      { id: 'login', ...action('login') },
      { id: 'goal', ...action('goal_blocked') },
      { id: 'proposal', ...action('skill_proposal', { proposal: {} }) },
      { id: 'task', ...action('task_blocked') },
      { id: 'schedule', ...action('schedule_paused') },
      { id: 'quoted', ...action('login', { context: '"action_type":"task_blocked" and "proposal":' }) },
    )
    await store.commit({
      session_id: 's',
      events: [],
      rows: [{ do: 'inbox.expire_waiting', decision: 'stopped' }],
    })
    const { items } = await store.inbox.list({ org_id: 'org_1', status: ['expired'], limit: 10 })
    expect(items.map(({ id, decision }) => [id, decision]).toSorted()).toEqual([
      ['goal', 'stopped'],
      ['login', 'stopped'],
      ['question', 'stopped'],
      ['quoted', 'stopped'],
    ])
  })

  test('a commit without_session returns no session, and inbox watchers are notified of its items', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const told = once()
    const ids: string[] = []
    const stop = store.inbox.watch('org_1', id => {
      ids.push(id)
      told.call()
    })
    const committed = await store.commit({
      session_id: 's',
      events: [withRows(say('raise'), openItem({ id: 'i' }))],
      without_session: true,
    })
    expect(committed.last_id).toBe(1)
    expect(() => committed.session).toThrow('session s is asked for after a commit without_session')
    await told.called
    stop()
    expect(ids).toEqual(['i'])
  })

  test('a commit can be rejected while a question is open, and a skipped question expires once', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const guarded: Commit = { session_id: 's', events: [say('typed')], expect_no_question: true }
    const expire = (tool_call_id: string): Commit => ({
      session_id: 's',
      events: [],
      rows: [{ do: 'inbox.expire_call', tool_call_id, kind: 'input_required', decision: 'passed_over' }],
    })
    await store.commit(guarded)
    await raise(store, 's', { id: 'gate' }, { id: 'q', kind: 'input_required', tool_call_id: 'call_1' })
    await refused(store, guarded, 'question_open')
    await store.commit(expire('call_1'))
    await store.commit(expire('call_1'))
    await store.commit(expire('call_9'))
    expect(await store.inbox.get('q')).toMatchObject({ status: 'expired', decision: 'passed_over' })
    await refused(store, answerCall('call_1'), 'already_answered')
    await store.commit(guarded)
    await raise(store, 's', { id: 'r', kind: 'input_required', tool_call_id: 'call_2' })
    await store.commit(answerCall('call_2'))
    await refused(store, expire('call_2'), 'already_answered')
  })

  test('a session waits on its question before its action before its approval', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const waiting = async () => (await store.sessions.get('s'))?.waiting_on
    const answer = (id: string) => store.commit(answerItem(id, 'x'))
    await raise(
      store,
      's',
      { id: 'info', kind: 'task_complete' },
      { id: 'checkin', kind: 'progress_checkin' },
    )
    expect(await waiting()).toBeNull()
    const { session } = await raise(
      store,
      's',
      { id: 'gate' },
      { id: 'question', kind: 'input_required' },
      { id: 'proposal', kind: 'action_required', payload: { proposal: { name: 'sow' } } },
      { id: 'action', kind: 'action_required', payload: { title: 'the "proposal":' } },
    )
    expect(session.waiting_on).toBe('question')
    expect(await waiting()).toBe('question')
    expect((await answer('question')).session.waiting_on).toBe('action')
    expect((await answer('action')).session.waiting_on).toBe('approval')
    expect((await answer('gate')).session.waiting_on).toBeNull()
    expect(await waiting()).toBeNull()
    expect((await store.sessions.list({ org_id: 'org_1', limit: 1 })).sessions[0]?.waiting_on).toBeNull()
  })

  test('reading an item stores the time of the first read', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await raise(store, 's', { id: 'i' })
    const first = new Date(clock.now()).toISOString()
    expect((await store.inbox.markRead('i'))?.read_at).toBe(first)
    clock.advance(5000)
    expect((await store.inbox.markRead('i'))?.read_at).toBe(first)
    expect(await store.inbox.markRead('other')).toBeNull()
  })

  test('items are listed newest first, in pages, with filters', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t', { created_by: 'user_2' }))
    for (let at = 0; at < 5; at += 1)
      await raise(store, at % 2 === 0 ? 's' : 't', {
        id: `i${at}`,
        kind: at === 4 ? 'task_complete' : 'governance_gate',
      })
    const list = async (query: object) =>
      (await store.inbox.list({ org_id: 'org_1', limit: 10, ...query })).items.map(item => item.id)
    expect(await list({})).toEqual(['i4', 'i3', 'i2', 'i1', 'i0'])
    expect(await list({ session_id: 't' })).toEqual(['i3', 'i1'])
    expect(await list({ created_by: 'user_1' })).toEqual(['i4', 'i2', 'i0'])
    expect(await list({ kind: ['task_complete'] })).toEqual(['i4'])
    expect(await list({ org_id: 'org_2' })).toEqual([])
    const first = await store.inbox.list({ org_id: 'org_1', limit: 3 })
    const second = await store.inbox.list({
      org_id: 'org_1',
      limit: 3,
      ...(first.next_cursor !== null && { cursor: first.next_cursor }),
    })
    expect([...first.items, ...second.items].map(item => item.id)).toEqual(['i4', 'i3', 'i2', 'i1', 'i0'])
    expect(second.next_cursor).toBeNull()
  })

  test('pending approvals are listed over all organisations in pages, without other items', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t', { org_id: 'org_2' }))
    for (let at = 0; at < 110; at += 1)
      await raise(store, at % 2 === 0 ? 's' : 't', { id: `i${at}`, kind: 'governance_gate' })
    await raise(store, 's', { id: 'note', kind: 'task_complete' })
    await store.commit({
      session_id: 's',
      events: [],
      rows: [{ do: 'inbox.answer', id: 'i0', decision: 'reject', status: 'responded' }],
    })
    const first = await store.inbox.listPendingGates()
    const second = await store.inbox.listPendingGates(first.next_cursor ?? undefined)
    expect(first.items).toHaveLength(100)
    expect([...first.items, ...second.items].map(item => item.id)).toEqual(
      Array.from({ length: 109 }, (_, at) => `i${109 - at}`),
    )
    expect(second.next_cursor).toBeNull()
  })

  test('watchers of an organisation are notified of each item that is opened, answered or read', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const told: string[] = []
    let nudge = once()
    const stop = store.inbox.watch('org_1', itemId => {
      told.push(itemId)
      nudge.call()
    })
    const stopOther = store.inbox.watch('org_2', itemId => told.push(`other ${itemId}`))
    for (const act of [
      () => raise(store, 's', { id: 'i' }),
      () =>
        store.commit({
          session_id: 's',
          events: [],
          rows: [{ do: 'inbox.answer', id: 'i', decision: 'approve', status: 'responded' }],
        }),
      () => store.inbox.markRead('i'),
    ]) {
      nudge = once()
      await act()
      await nudge.called
    }
    stop()
    stopOther()
    expect(told).toEqual(['i', 'i', 'i'])
  })

  test('a grant covers its own call, once, and not past its expiry', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await store.sessions.create(newSession('t'))
    const grant = (id: string): RowChange => ({
      do: 'grant.add',
      id,
      tool: 'terminal',
      arguments_hash: 'h1',
      granted_by: { kind: 'service_account', id: 'robot' },
      expires_at: clock.now() + 1000,
    })
    await store.commit({ session_id: 's', events: [], rows: [grant('g1')] })
    expect(await store.grants.find('s', 'terminal', 'h1')).toEqual({
      id: 'g1',
      granted_by: { kind: 'service_account', id: 'robot' },
    })
    expect(await store.grants.find('s', 'terminal', 'h2')).toBeNull()
    await refused(store, consume('s', 'g1', 'terminal', 'h2'), 'no_grant')
    await refused(store, consume('s', 'g1', 'browser', 'h1'), 'no_grant')
    await refused(store, consume('t', 'g1', 'terminal', 'h1'), 'no_grant')
    await refused(store, consume('s', 'g2', 'terminal', 'h1'), 'no_grant')
    const both = await Promise.allSettled([
      store.commit(consume('s', 'g1', 'terminal', 'h1')),
      store.commit(consume('s', 'g1', 'terminal', 'h1')),
    ])
    expect(both.map(each => each.status)).toEqual(['fulfilled', 'rejected'])
    await store.commit({ session_id: 's', events: [], rows: [grant('g2')] })
    clock.advance(1000)
    expect(await store.grants.find('s', 'terminal', 'h1')).toBeNull()
    await refused(store, consume('s', 'g2', 'terminal', 'h1'), 'no_grant')
  })

  test('an answered item names its decider, and none if it is unknown', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await raise(store, 's', { id: 'a' }, { id: 'b' }, { id: 'c' })
    await store.commit(answerItem('a', 'approve', { kind: 'user', id: 'alice' }))
    await store.commit(answerItem('b', 'reject', { kind: 'service_account', id: 'robot' }))
    await store.commit(answerItem('c', 'approve'))
    const named = async (id: string) => {
      const item = await store.inbox.get(id)
      return [item?.decided_by_user_id, item?.decided_by_service_account_id]
    }
    expect(await named('a')).toEqual(['alice', undefined])
    expect(await named('b')).toEqual([undefined, 'robot'])
    expect(await named('c')).toEqual([undefined, undefined])
  })

  test('artifacts are listed oldest first without their body, and fetched with it', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [say('x')], rows: [addArtifact('b'), addArtifact('a')] })
    const meta = (artifact_id: string) => ({
      artifact_id,
      session_id: 's',
      name: `${artifact_id}.md`,
      kind: 'markdown',
      version: 1,
      size: 4,
      created_at: new Date(clock.now()).toISOString(),
    })
    expect(await store.artifacts.list('s')).toEqual([meta('b'), meta('a')])
    expect(await store.artifacts.get('s', 'a')).toEqual({
      meta: meta('a'),
      spec: { kind: 'markdown', content: '# a' },
    })
    expect(await store.artifacts.get('s', 'z')).toBeNull()
    // A row that cannot be written rolls back its commit.
    await expect(
      store.commit({ session_id: 's', events: [say('y')], rows: [addArtifact('a')] }),
    ).rejects.toThrow()
    expect((await store.sessions.get('s'))?.last_event_id).toBe(1)
    expect((await store.commit({ session_id: 's', events: [say('z')] })).last_id).toBe(2)
  })
}
