/** What a messaging channel stores: rows that are settled once, their order, and leases with fences. */
import { expect, test } from 'vitest'
import { type ChannelFence, type LogStore, repliesOf, withRows } from '@cairn/log'
import type { Bench } from './bench.ts'
import { newSession, readAll, refused, response, say } from './fixture.ts'

const connection = {
  id: 'hook',
  org_id: 'org_1',
  name: 'hook',
  platform: 'webhook',
  service_account_id: 'account',
}
const inbound = (event_key: string, conversation_key = 'one') => ({
  connection_id: 'hook',
  event_key,
  conversation_key,
  sender: 'ann',
  body: '{}',
})
async function talk(store: LogStore, session_id = 'talk', generation = 0, opened_by = 1): Promise<void> {
  await store.sessions.create(newSession(session_id))
  await store.channels.openConversation({
    session_id,
    connection_id: 'hook',
    key: 'one',
    generation,
    opened_by,
    target: '{}',
    language: null,
  })
}
async function fenceOf(store: LogStore, holder = 'a'): Promise<ChannelFence> {
  const epoch = await store.channels.acquire('hook', 'deliver', holder, 30_000)
  if (epoch === null) throw new Error(`${holder} got no lease`)
  return { connection_id: 'hook', epoch }
}

export function defineChannels({ open, kind }: Bench): void {
  async function openConnected() {
    const opened = await open()
    await opened.store.channels.putConnection(connection)
    return opened
  }

  test('a platform event is received once, and rows of a conversation are returned one at a time in order', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    const first = await channels.receive(inbound('1'))
    expect(first).toEqual(expect.any(Number))
    expect(await channels.receive(inbound('1'))).toBeNull()
    const second = await channels.receive(inbound('2'))
    const other = await channels.receive(inbound('3', 'two'))
    const next = async () => (await channels.nextInbound('hook', 10)).map(({ seq }) => seq)
    expect(await next()).toEqual([first, other])
    await channels.retryInbound({ connection_id: 'hook', seq: first! }, 1000, 'busy')
    expect(await next()).toEqual([other])
    clock.advance(1000)
    expect(await channels.nextInbound('hook', 1)).toMatchObject([{ attempts: 1, reason: 'busy' }])
    await channels.dropInbound({ connection_id: 'hook', seq: first! }, 'bot')
    expect(await next()).toEqual([second, other])
    expect(await channels.getInbound('hook', first!)).toMatchObject({ state: 'dropped', reason: 'bot' })
    await channels.pruneInbound(500)
    expect(await channels.getInbound('hook', first!)).toBeNull()
    expect(await next()).toEqual([second, other])
  })

  test('the waiting rows of a conversation are listed in order, and a deferred row is due later', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    const first = (await channels.receive(inbound('1')))!
    const other = (await channels.receive(inbound('2', 'two')))!
    const second = (await channels.receive(inbound('3')))!
    const seqs = (rows: { seq: number }[]) => rows.map(({ seq }) => seq)
    expect(seqs(await channels.waitingInbound('hook', 'one', 10))).toEqual([first, second])
    expect(seqs(await channels.waitingInbound('hook', 'one', 1))).toEqual([first])
    await channels.deferInbound({ connection_id: 'hook', seq: first }, 1000)
    expect(seqs(await channels.nextInbound('hook', 10))).toEqual([other])
    expect(seqs(await channels.waitingInbound('hook', 'one', 10))).toEqual([first, second])
    clock.advance(1000)
    expect(await channels.nextInbound('hook', 1)).toMatchObject([{ seq: first, attempts: 0 }])
    await channels.dropInbound({ connection_id: 'hook', seq: first }, 'bot')
    expect(seqs(await channels.waitingInbound('hook', 'one', 10))).toEqual([second])
  })

  test('rows of a sender are counted up to a given row, in the time before it was received', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    const receive = async (key: string) =>
      (await channels.getInbound('hook', (await channels.receive(inbound(key)))!))!
    const [, second, third] = [await receive('1'), await receive('2'), await receive('3')]
    clock.advance(1000)
    const last = await receive('4')
    clock.advance(5000)
    expect(await channels.countInbound(second, 2000)).toBe(2)
    expect(await channels.countInbound(third, 2000)).toBe(3)
    expect(await channels.countInbound(last, 2000)).toBe(4)
    expect(await channels.countInbound(last, 500)).toBe(1)
  })

  test('a row is accepted once, in the commit of its message, by the newest session of its conversation', async () => {
    const { store } = await openConnected()
    const { channels } = store
    const seq = (await channels.receive(inbound('1')))!
    await talk(store)
    await talk(store, 'again', 1, 1)
    expect(await channels.conversation('hook', 'one')).toMatchObject({ session_id: 'talk', generation: 0 })
    await talk(store, 'newer', 1, 2)
    const commit = (session_id: string) => ({
      session_id,
      events: [say('hello')],
      rows: [{ do: 'channel.accept', connection_id: 'hook', seq }, { do: 'channel.route' }] as const,
    })
    await refused(store, commit('talk'), 'route_moved')
    expect(await channels.getInbound('hook', seq)).toMatchObject({ state: 'received', session_id: null })
    await store.commit(commit('newer'))
    expect(await channels.getInbound('hook', seq)).toMatchObject({
      state: 'accepted',
      session_id: 'newer',
      event_id: 1,
    })
    await refused(store, commit('newer'), 'already_accepted')
    expect(await readAll(store, 'newer')).toHaveLength(1)
    expect(await readAll(store, 'talk')).toEqual([])
    const disclosed = { session_id: 'newer', events: [], rows: [{ do: 'channel.disclosed' }] } as const
    await store.commit(disclosed)
    await refused(store, disclosed, 'already_accepted')
    expect(await channels.conversationOf('newer')).toMatchObject({ disclosed_at: expect.any(Number) })
  })

  test('a conversation is due while its log is ahead of the delivered events', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    await talk(store)
    const fence = await fenceOf(store)
    const due = async () => (await channels.dueConversations('hook', '', 10)).map(row => row.session_id)
    await store.commit({ session_id: 'talk', events: [say('hello')], rows: [{ do: 'channel.route' }] })
    await store.commit({ session_id: 'talk', events: [response('hi')] })
    expect(await channels.dueConversations('hook', '', 10)).toMatchObject([
      { session_id: 'talk', last_id: 2, running: 1, delivered_through: 0 },
    ])
    await channels.postpone('talk', 1000, fence)
    expect(await due()).toEqual([])
    clock.advance(1000)
    expect(await due()).toEqual(['talk'])
    await channels.advance('talk', 2, { ...fence, epoch: fence.epoch + 1 })
    expect(await due()).toEqual(['talk'])
    await channels.advance('talk', 2, fence)
    expect(await due()).toEqual([])
  })

  test('only the holder of the lease starts a delivery before its call and settles it afterwards', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    await store.sessions.create(newSession('talk'))
    const id = { session_id: 'talk', event_id: 2, part: 0 }
    const a = await fenceOf(store)
    expect(await channels.beginDelivery({ ...id, key: 'k' }, a)).toBe(true)
    expect(await channels.delivery(id)).toMatchObject({ state: 'sending', attempts: 1, key: 'k' })
    expect(await channels.acquire('hook', 'deliver', 'b', 30_000)).toBeNull()
    clock.advance(30_001)
    const b = await fenceOf(store, 'b')
    expect(b.epoch).toBe(a.epoch + 1)
    expect(await channels.settleDelivery(id, { state: 'sent' }, a)).toBe(false)
    expect(await channels.beginDelivery({ ...id, key: 'k' }, a)).toBe(false)
    expect(await channels.settleDelivery(id, { state: 'waiting', error: 'busy', retry_ms: 50 }, b)).toBe(true)
    expect(await channels.delivery(id)).toMatchObject({
      state: 'waiting',
      error: 'busy',
      next_at: clock.now() + 50,
    })
    expect(await channels.beginDelivery({ ...id, key: 'k' }, b)).toBe(true)
    await channels.settleDelivery(id, { state: 'dead', error: 'gone' }, b)
    expect(await channels.beginDelivery({ ...id, key: 'k' }, b)).toBe(false)
    expect(await channels.listDeliveries('hook', 'dead', 10)).toMatchObject([{ attempts: 2, error: 'gone' }])
    await channels.release('hook', 'deliver', 'b')
    expect((await fenceOf(store, 'c')).epoch).toBe(b.epoch + 1)
  })

  test('a part that the platform confirmed meanwhile does not become unknown again', async () => {
    const { store } = await openConnected()
    const { channels } = store
    await store.sessions.create(newSession('talk'))
    const id = { session_id: 'talk', event_id: 2, part: 0 }
    const fence = await fenceOf(store)
    await channels.beginDelivery({ ...id, key: 'k' }, fence)
    const taken = { key: 'k', outcome: 'taken', message_id: 'm', error: '' } as const
    await channels.movePart('hook', taken)
    expect(await channels.settleDelivery(id, { state: 'unknown', error: 'no answer' }, fence)).toBe(false)
    expect(await channels.delivery(id)).toMatchObject({ state: 'sent', platform_message_id: 'm' })
  })

  test('a channel message without an event is planned once and due until it is settled', async () => {
    const { store } = await openConnected()
    const { channels } = store
    const fence = await fenceOf(store)
    const reply = {
      session_id: repliesOf('hook'),
      event_id: 4,
      part: 0,
      connection_id: 'hook',
      key: 'k',
      body: 'no',
    }
    await channels.planReply(reply)
    await channels.planReply({ ...reply, body: 'other' })
    expect(await channels.dueReplies('hook', 10)).toMatchObject([{ body: 'no', state: 'planned' }])
    await channels.beginDelivery(reply, fence)
    await channels.settleDelivery(reply, { state: 'sent', platform_message_id: 'm' }, fence)
    await channels.planReply(reply)
    expect(await channels.dueReplies('hook', 10)).toEqual([])
  })

  test('expired visitors of a connection are deleted, and others are kept', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    const put = (token_sha256: string, connection_id: string, ms: number) =>
      channels.putVisitor({
        token_sha256,
        connection_id,
        subject: null,
        name: null,
        expires_at: clock.now() + ms,
      })
    await put('short', 'hook', 1000)
    await put('long', 'hook', 5000)
    await put('short elsewhere', 'other', 1000)
    clock.advance(2000)
    await channels.pruneVisitors('hook')
    // An existing visitor keeps its expiry.
    await put('short', 'hook', 9000)
    await put('short elsewhere', 'other', 9000)
    expect(await channels.visitor('hook', 'short')).not.toBeNull()
    expect(await channels.visitor('hook', 'long')).not.toBeNull()
    expect(await channels.visitor('other', 'short elsewhere')).toBeNull()
  })

  test('a pairing code links one account once, and each user has one open code', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    const code = (code_sha256: string) => ({ code_sha256, org_id: 'org_1', user_id: 'ann', ttl_ms: 1000 })
    await channels.putPairing(code('first'))
    await channels.putPairing(code('second'))
    expect(await channels.usePairing('org_1', 'first', 'row 1')).toBeNull()
    expect(await channels.usePairing('org_2', 'second', 'row 1')).toBeNull()
    expect(await channels.usePairing('org_1', 'second', 'row 1')).toBe('ann')
    expect(await channels.usePairing('org_1', 'second', 'row 1')).toBe('ann')
    expect(await channels.usePairing('org_1', 'second', 'row 2')).toBeNull()
    await channels.putPairing(code('third'))
    clock.advance(1000)
    expect(await channels.usePairing('org_1', 'third', 'row 3')).toBeNull()

    for (const id of ['ann', 'bob'])
      await store.accounts.createUser({
        id,
        org_id: 'org_1',
        email: `${id}@example.org`,
        name: id,
        admin: false,
        password_hash: null,
      })
    const where = { org_id: 'org_1', platform: 'webhook', workspace: '', platform_user_id: 'U1' }
    await channels.putIdentity({ id: 'i', ...where, user_id: 'ann' })
    await channels.putIdentity({ id: 'j', ...where, user_id: 'bob' })
    expect(await channels.findIdentity(where)).toMatchObject({ id: 'i', user_id: 'bob' })
    expect(await channels.deleteIdentity('ann', 'i')).toBe(false)
    expect(await channels.deleteIdentity('bob', 'i')).toBe(true)
    expect(await channels.listIdentities('bob')).toEqual([])
  })

  test('connections, senders and prompts keep their last written values', async () => {
    const { store, clock } = await openConnected()
    const { channels } = store
    await channels.putConnection(connection)
    await channels.setConnection('hook', 'broken', 'no secret')
    await channels.recoverConnection('hook')
    expect(await channels.getConnection('hook')).toMatchObject({ state: 'live', last_error: 'no secret' })
    await channels.setConnection('hook', 'broken', 'no secret')
    await channels.saveCursor('hook', '7')
    await channels.putConnection({ ...connection, platform: 'telegram' })
    expect(await channels.listConnections('org_1')).toMatchObject([
      { platform: 'telegram', state: 'broken', last_error: 'no secret', poll_cursor: '7' },
    ])
    expect(await channels.getConnection('other')).toBeNull()
    await channels.seeSender('hook', 'ann', 'Ann')
    expect(await channels.seeSender('hook', 'ann', null)).toMatchObject({ name: 'Ann', told_at: null })
    expect(await channels.tellSender('hook', 'ann', 1000)).toBe(true)
    expect(await channels.tellSender('hook', 'ann', 1000)).toBe(false)
    clock.advance(1000)
    expect(await channels.tellSender('hook', 'ann', 1000)).toBe(true)
    expect(await channels.countWrongCode('hook', 'ann', 1000)).toBe(1)
    expect(await channels.countWrongCode('hook', 'ann', 1000)).toBe(2)
    clock.advance(1001)
    expect(await channels.countWrongCode('hook', 'ann', 1000)).toBe(1)
    const item = {
      id: 'item',
      kind: 'input_required',
      title: 'Which?',
      body: null,
      payload: {},
      expires_at: null,
      tool_call_id: 'call',
    } as const
    const prompt = {
      id: 'p',
      session_id: 's',
      kind: 'question',
      about: 'call',
      choices: '[]',
      event_id: 3,
      part: 0,
      item_id: 'item',
      shown_hash: null,
    } as const
    await store.sessions.create(newSession('s'))
    await store.commit({ session_id: 's', events: [withRows(say('which?'), { do: 'inbox.open', item })] })
    await channels.putPrompt(prompt)
    await channels.putPrompt({ ...prompt, about: 'other' })
    expect(await channels.getPrompt('hook', 'p')).toMatchObject({ ...prompt, closed_at: null })
    expect(await channels.promptOfItem('item')).toMatchObject({ id: 'p' })
    await channels.closePrompts('s', 'other')
    expect(await channels.getPrompt('hook', 'p')).toMatchObject({ closed_at: null })
    await channels.closePrompts('s', null)
    expect(await channels.getPrompt('hook', 'p')).toMatchObject({ closed_at: clock.now() })
  })

  // Other processes may still hold leases on a shared store.
  if (kind === 'exclusive')
    test('a lease of a dead process is free at once after a restart', async () => {
      const { store, place, clock } = await openConnected()
      await fenceOf(store)
      await store.close()
      const { store: reopened } = await open({ place, clock })
      expect(await reopened.channels.acquire('hook', 'deliver', 'b', 30_000)).toBe(2)
    })
}
