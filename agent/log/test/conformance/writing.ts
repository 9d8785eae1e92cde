/** Commits: order, ids, guards, and the state after a rejected commit. */
import { expect, test } from 'vitest'
import { type Commit, CommitRefused, withRows } from '@cairn/log'
import {
  called,
  claimOne,
  complete,
  delta,
  fail,
  ids,
  newSession,
  pause,
  readAll,
  refused,
  response,
  resume,
  say,
  titled,
  statusOf,
  thought,
  upTo,
} from './fixture.ts'
import type { Bench } from './bench.ts'

export function defineWriting({ open }: Bench): void {
  test('a commit assigns the next ids and one time, and its events read back as written', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    const committed = await store.commit({
      session_id: 's',
      events: [say('one "quoted" \u2028 line'), thought('two')],
    })
    const created_at = new Date(clock.now()).toISOString()
    expect(committed.events).toEqual([
      { id: 1, type: 'user.message', created_at },
      { id: 2, type: 'llm.thinking', created_at },
    ])
    expect(committed.last_id).toBe(2)
    const [first] = await store.events.read('s', 0, 10)
    expect(JSON.parse(first?.json ?? '')).toEqual({
      id: 1,
      session_id: 's',
      type: 'user.message',
      created_at,
      data: { content: 'one "quoted" \u2028 line' },
    })
    expect(first?.json).not.toContain('\n')
  })

  test('32 writers on one session leave ids without a gap, and atomic commits in the order of their answers', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const answers: number[] = []
    await Promise.all(
      Array.from({ length: 32 }, async (_, writer) => {
        for (let round = 0; round < 20; round += 1) {
          const { events } = await store.commit({
            session_id: 's',
            events: [thought(`${writer}/${round}/a`), thought(`${writer}/${round}/b`)],
          })
          answers.push(...ids(events))
        }
      }),
    )
    const all = await readAll(store, 's')
    expect(ids(all)).toEqual(upTo(1280))
    expect(answers).toEqual(upTo(1280))
    const texts = all.map(event => (JSON.parse(event.json) as { data: { reasoning: string } }).data.reasoning)
    for (let at = 0; at < texts.length; at += 2) expect(texts[at + 1]).toBe(texts[at]?.replace('/a', '/b'))
  })

  test('a commit without events changes the row and no log', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const { events, last_id, session } = await store.commit({
      session_id: 's',
      events: [],
      set: { title: 'New', model: 'big', status: 'archived' },
    })
    expect({ events, last_id }).toEqual({ events: [], last_id: 0 })
    expect(session).toMatchObject({ title: 'New', model: 'big', status: 'archived' })
    expect(await store.sessions.get('s')).toEqual(session)
  })

  test('a commit to a missing session is rejected', async () => {
    const { store } = await open()
    const refusal = await refused(store, { session_id: 'none', events: [say('x')] }, 'no_session')
    expect(refusal).toBeInstanceOf(CommitRefused)
    expect(refusal.session).toBeNull()
  })

  test('a second session with the same id is an error, and the first stays', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s', { title: 'first' }))
    await expect(store.sessions.create(newSession('s', { title: 'second' }))).rejects.toThrow(
      /exists already/,
    )
    expect((await store.sessions.get('s'))?.title).toBe('first')
  })

  test('a rejected guard rolls back its own commit and no other of the same batch', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const settled = await Promise.allSettled([
      store.commit({ session_id: 's', events: [thought('kept')] }),
      store.commit({
        session_id: 's',
        events: [thought('gone')],
        rows: [{ do: 'grant.consume', id: 'g', tool: 't', arguments_hash: 'h' }],
      }),
      store.commit({ session_id: 's', events: [thought('gone too')], expect_status: ['paused'] }),
      store.commit({ session_id: 's', events: [thought('kept too')] }),
    ])
    expect(settled.map(each => each.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    const all = await readAll(store, 's')
    expect(
      all.map(event => (JSON.parse(event.json) as { data: { reasoning: string } }).data.reasoning),
    ).toEqual(['kept', 'kept too'])
    expect(ids(all)).toEqual([1, 2])
    expect(await store.check()).toEqual([])
  })

  test('rows before the rejected one are rolled back with it', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    await refused(
      store,
      {
        session_id: 's',
        events: [say('x')],
        rows: [
          {
            do: 'grant.add',
            id: 'g',
            tool: 't',
            arguments_hash: 'h',
            granted_by: { kind: 'user', id: 'user_1' },
            expires_at: clock.now() + 1000,
          },
          { do: 'inbox.answer', id: 'none', decision: 'approve', status: 'responded' },
        ],
      },
      'already_answered',
    )
    expect(await store.grants.find('s', 't', 'h')).toBeNull()
    expect((await store.commit({ session_id: 's', events: [say('y')] })).last_id).toBe(1)
    expect(await store.check()).toEqual([])
  })

  test('expect_status rejects another status and returns the current session', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [pause()], expect_status: ['active'] })
    const refusal = await refused(
      store,
      { session_id: 's', events: [pause()], expect_status: ['active', 'failed'] },
      'wrong_status',
    )
    expect(refusal.session?.status).toBe('paused')
    expect(refusal.message).toContain('paused')
  })

  test('expect_no_work_after rejects the end of a turn after a late message', async () => {
    const { store } = await open()
    const { fence } = await claimOne(store, 's')
    await store.commit({ session_id: 's', fence, events: [thought('working')] })
    await store.commit({ session_id: 's', events: [say('one more thing')] })
    await refused(
      store,
      { session_id: 's', fence, events: [complete()], expect_no_work_after: 2 },
      'new_work',
    )
    expect(await statusOf(store, 's')).toBe('active')
    await store.commit({ session_id: 's', fence, events: [complete()], expect_no_work_after: 3 })
    expect(await statusOf(store, 's')).toBe('completed')
  })

  test('a generated title does not replace a title that a user set', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const name = (title: string, expect_title: string | null, provisional = false): Commit => ({
      session_id: 's',
      events: [titled(title, provisional)],
      expect_title,
    })
    await store.commit(name('begun', null, true))
    await refused(store, name('found', null), 'has_title')
    expect((await store.sessions.get('s'))?.title).toBe('begun')
    await store.commit(name('begun better', 'begun', true))
    await refused(store, name('found too late', 'begun'), 'has_title')
    // A user sets it, and it equals the provisional one.
    await store.commit({ session_id: 's', events: [titled('begun better')] })
    await refused(store, name('found', 'begun better'), 'has_title')
    expect((await store.sessions.get('s'))?.title).toBe('begun better')
    expect(await store.check()).toEqual([])
  })

  /** Promise 4.13: On each store a session records whether any of its calls had no known rate. */
  test('an unpriced call marks its own session and no other', async () => {
    const { store } = await open()
    for (const id of ['priced', 'unpriced', 'new']) await store.sessions.create(newSession(id))
    await store.commit({ session_id: 'priced', events: [response('a', { cost: 0.5 })] })
    await store.commit({ session_id: 'unpriced', events: [response('a', { cost: 0.5 })] })
    await store.commit({ session_id: 'unpriced', events: [response('b', { unpriced: true })] })
    await store.commit({ session_id: 'unpriced', events: [response('c', { cost: 0.5 })] })
    const told = async () =>
      (await store.sessions.getMany(['priced', 'unpriced', 'new'])).map(({ id, unpriced, cost_usd }) => [
        id,
        unpriced,
        cost_usd,
      ])
    expect((await told()).toSorted()).toEqual([
      ['new', false, 0],
      ['priced', false, 0.5],
      ['unpriced', true, 1],
    ])
    expect(await store.check()).toEqual([])
  })

  test('reopen is written first if the session has ended, and not at all otherwise', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const open1 = await store.commit({ session_id: 's', reopen: resume(), events: [say('first')] })
    expect(open1.events.map(event => event.type)).toEqual(['user.message'])
    await store.commit({ session_id: 's', events: [complete()] })
    const again = await store.commit({
      session_id: 's',
      reopen: resume(),
      events: [
        withRows(say('second'), {
          do: 'inbox.open',
          item: {
            id: 'item',
            kind: 'task_complete',
            title: 'T',
            body: null,
            payload: {},
            expires_at: null,
            tool_call_id: null,
          },
        }),
      ],
    })
    expect(again.events).toMatchObject([{ id: 4, type: 'user.message' }])
    expect(again.session.status).toBe('active')
    expect((await store.inbox.get('item'))?.source_event_id).toBe(4)
    await store.commit({ session_id: 's', events: [fail()] })
    await store.commit({ session_id: 's', reopen: resume(), events: [say('third')] })
    expect((await readAll(store, 's')).map(event => event.type)).toEqual([
      'user.message',
      'session.complete',
      'session.resume',
      'user.message',
      'session.fail',
      'session.resume',
      'user.message',
    ])
  })

  test('a paused session stores a message and stays paused', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [pause()] })
    const { session } = await store.commit({ session_id: 's', reopen: resume(), events: [say('later')] })
    expect(session).toMatchObject({ status: 'paused', last_event_id: 2 })
  })

  test('columns of the session change with their events', async () => {
    const { store, clock } = await open()
    await store.sessions.create(newSession('s'))
    clock.advance(5000)
    await store.commit({
      session_id: 's',
      events: [
        say('a'),
        response('b', { input: 100, output: 20, cost: 0.25 }),
        called('c1'),
        called('c2'),
        response('d', { input: 7, output: 3, cost: 0.5 }),
      ],
    })
    const { session } = await store.commit({ session_id: 's', events: [complete()] })
    expect(session).toMatchObject({
      status: 'completed',
      last_event_id: 6,
      message_count: 1,
      tool_call_count: 2,
      input_tokens: 107,
      output_tokens: 23,
      cost_usd: 0.75,
      wake_id: 1,
      updated_at: clock.now(),
      created_at: clock.now() - 5000,
    })
    expect(await store.sessions.get('s')).toEqual(session)
  })

  test('an archived session stays archived, whatever is committed later', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [], set: { status: 'archived' } })
    const { session } = await store.commit({ session_id: 's', events: [complete()] })
    expect(session.status).toBe('archived')
  })

  test('events, titles, channels, inbox items and artifacts are redacted before they are stored', async () => {
    const { store } = await open({ redact: json => json.replaceAll('hunter22', '[gone]') })
    await store.sessions.create(
      newSession('s', { title: 'about hunter22', channel: 'of hunter22', config: { note: 'hunter22' } }),
    )
    const { session } = await store.commit({
      session_id: 's',
      events: [
        withRows(say('my word is hunter22'), {
          do: 'inbox.open',
          item: {
            id: 'i',
            kind: 'task_complete',
            title: 'hunter22',
            body: 'hunter22',
            payload: { deep: ['hunter22'] },
            expires_at: null,
            tool_call_id: null,
          },
        }),
        delta('hunter22'),
      ],
      set: { title: 'still hunter22' },
      rows: [
        {
          do: 'artifact.add',
          artifact: { artifact_id: 'a', name: 'hunter22', kind: 'markdown', version: 1, size: 8 },
          spec: { kind: 'markdown', content: 'hunter22' },
        },
      ],
    })
    const stored = JSON.stringify([
      session,
      await readAll(store, 's'),
      await store.inbox.get('i'),
      await store.artifacts.get('s', 'a'),
      await store.sessions.get('s'),
    ])
    expect(stored).not.toContain('hunter22')
    expect(stored.match(/\[gone\]/g)?.length).toBeGreaterThanOrEqual(9)
    expect((await store.sessions.get('s'))?.channel).toBe('of [gone]')
  })

  test('redaction of arguments removes only the secret itself, in the call, the answer and the inbox item', async () => {
    const { store } = await open()
    await store.sessions.create(newSession('s'))
    const command = ': -----BEGIN X PRIVATE KEY-----; touch hidden; echo sk-abcdefghijklmnopqrstuvwx > key'
    const shown = ': -----BEGIN X PRIVATE KEY-----; touch hidden; echo [REDACTED] > key'
    await store.commit({
      session_id: 's',
      events: [
        withRows(called('c', { command }), {
          do: 'inbox.open',
          item: {
            id: 'gate',
            kind: 'governance_gate',
            title: 'Approval needed',
            body: command,
            payload: { command },
            expires_at: null,
            tool_call_id: 'c',
          },
        }),
        response('', {}, { id: 'c', arguments: JSON.stringify({ command }) }),
      ],
    })
    const stored = await readAll(store, 's')
    const data = stored.map(event => (JSON.parse(event.json) as { data: Record<string, unknown> }).data)
    expect(data[0]).toMatchObject({ arguments: { command: shown } })
    expect(data[1]).toMatchObject({
      message: { tool_calls: [{ function: { arguments: JSON.stringify({ command: shown }) } }] },
    })
    const item = await store.inbox.get('gate')
    expect(item?.payload).toEqual({ command: shown })
    expect(item?.body).toBe(shown)
  })
}
