/** A conversation over the signed webhook, from the call to the answer. */
import { expect, test } from 'vitest'
import type { Commit, LogStore } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { codeChannelUpdate } from '@cairn/sessions'
import { call, KINDS, logOf, makeBench, refusing, say, sessionsOf } from './bench.ts'
import { response } from './worker.ts'

test.each(KINDS)(
  'on %s a message creates a session, the next one continues it, and each is answered once',
  async kind => {
    const { store, callback, start } = await makeBench(kind)
    const channels = await start()
    await say(channels, { text: 'hello' })
    await expect.poll(() => callback.taken).toHaveLength(1)
    expect(callback.taken[0]).toMatchObject({
      type: 'answer',
      conversation_id: 'C1',
      part: 0,
      text: 'echo: hello',
    })
    await say(channels, { text: 'again' })
    await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['echo: hello', 'echo: again'])

    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    expect(session).toMatchObject({
      channel: 'webhook',
      agent: 'greeter',
      created_by_kind: 'service_account',
    })
    const [first] = await logOf(store, session!.id)
    expect(first?.data).toMatchObject({
      content: 'hello',
      principal_service_account_id: session!.created_by,
      source: {
        platform: 'webhook',
        chat_id: 'C1',
        chat_type: 'dm',
        user_id: 'U1',
        user_name: null,
        thread_id: null,
        ts: expect.stringMatching(/^\d+\.[0-9a-f]{8}$/),
      },
    })
    expect(new Set(callback.taken.map(({ key }) => key)).size).toBe(2)
  },
)

/** Promise 15.4: An answer that is not yet in memory is not skipped. */
test('a short page does not end the delivery, and no event is skipped', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const read: LogStore['events']['read'] = async (...asked) => (await store.events.read(...asked)).slice(0, 1)
  const channels = await start({ ...store, events: { ...store.events, read } })
  await say(channels, { text: 'one' })
  await say(channels, { text: 'two' })
  await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['echo: one', 'echo: two'])
})

/** Promise 15.4: A message part is sent under one key until the platform accepts it. */
test('a part that the callback does not accept is resent under the same key until it does', async () => {
  const { callback, start } = await makeBench('sqlite')
  const channels = await start()
  callback.reply(503, 500, { status: 429, headers: { 'retry-after': '0' } }, 'drop')
  await say(channels, { text: 'hello' })
  await expect.poll(() => callback.taken, { timeout: 10_000 }).toHaveLength(2)
  const keys = [...callback.refused, ...callback.taken].map(({ key }) => key)
  expect(keys).toHaveLength(5)
  expect(new Set(keys).size).toBe(1)
})

/** Promise 15.4: A part that the platform rejects becomes a failed delivery, and later answers continue. */
test('a part that the callback rejects is a failed delivery, and later answers are sent', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const channels = await start()
  callback.reply(400)
  await say(channels, { text: 'one' })
  await expect.poll(() => callback.refused).toHaveLength(1)
  const state = async () => (await store.channels.listConnections('org_1'))[0]?.state
  await expect.poll(state).toBe('degraded')
  await say(channels, { text: 'two' })
  await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['echo: two'])
  await expect.poll(state).toBe('live')
  const [connection] = await store.channels.listConnections('org_1')
  expect(connection).toMatchObject({ last_error: 'the callback returned 400' })
  expect(await store.channels.listDeliveries(connection!.id, 'dead', 10)).toMatchObject([
    { state: 'dead', error: 'the callback returned 400', attempts: 1 },
  ])
})

test('an operator resends a failed delivery, which arrives once, after newer messages', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const channels = await start()
  callback.reply(400)
  await say(channels, { text: 'one' })
  const [connection] = await store.channels.listConnections('org_1')
  const dead = () => store.channels.listDeliveries(connection!.id, 'dead', 10)
  await expect.poll(dead).toHaveLength(1)
  await say(channels, { text: 'two' })
  const texts = () => callback.taken.map(({ text }) => text)
  await expect.poll(texts).toEqual(['echo: two'])
  await store.channels.redoDelivery(connection!.id, (await dead())[0]!.key)
  await expect.poll(texts).toEqual(['echo: two', 'echo: one'])
  await expect.poll(() => store.channels.dueRedos(connection!.id, 10)).toEqual([])
})

test('a conversation in backoff does not delay others', async () => {
  const { callback, start } = await makeBench('sqlite')
  const channels = await start()
  callback.reply({ status: 503, headers: {} })
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      say(channels, { text: `m${at}`, conversation: `C${at}`, user: `U${at}` }),
    ),
  )
  await expect.poll(() => callback.seen().length, { timeout: 10_000 }).toBe(20)
})

test('a callback that answers 410 disables the connection, which then accepts no messages', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const channels = await start()
  callback.reply(410)
  await say(channels, { text: 'one' })
  await expect.poll(async () => (await store.channels.listConnections('org_1'))[0]?.state).toBe('disabled')
  await expect(say(channels, { text: 'two' })).rejects.toMatchObject({ code: 'not_found' })
})

test('a burst that was undelivered at shutdown is answered in order after the restart', async () => {
  const { callback, start, advance } = await makeBench('sqlite')
  const first = await start()
  const texts = Array.from({ length: 15 }, (_, at) => `m${at}`)
  callback.replyAlways(503)
  for (const text of texts) await say(first, { text })
  await first.stop()
  callback.replyAlways(200)
  advance(31_000)
  await start()
  const said = () => callback.seen().map(({ text }) => text)
  await expect.poll(() => said().length, { timeout: 10_000 }).toBe(15)
  expect(said()).toEqual(texts.map(text => `echo: ${text}`))
})

test('a connection without its secret is broken, and the service runs', async () => {
  const { store, start } = await makeBench('sqlite', { secret_env: 'NOT_THERE' })
  const channels = await start()
  expect(channels.paths).toEqual([])
  expect(await store.channels.listConnections('org_1')).toMatchObject([
    { state: 'broken', last_error: expect.stringContaining('NOT_THERE is not set') },
  ])
})

test('a connection with an unknown agent is broken and has no webhook path', async () => {
  const { store, start } = await makeBench('sqlite', { agent: 'gretter' })
  const channels = await start()
  expect(channels.paths).toEqual([])
  expect(await store.channels.listConnections('org_1')).toMatchObject([
    { state: 'broken', last_error: 'unknown agent "gretter": must be one of assistant, greeter' },
  ])
})

test('a rejected sender gets a message of the channel, without internal details', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const error = new AppError('limit_reached', 'The table of org_1 is full.')
  const channels = await start(refusing(store, () => error))
  await say(channels, { text: 'hello' })
  await expect
    .poll(() => callback.taken.map(({ text }) => text))
    .toEqual(['Your message was not accepted: the limit is reached.'])
})

test.each(KINDS)(
  'on %s an id that a store cannot keep is rejected, and other text arrives unchanged',
  async kind => {
    const { callback, start } = await makeBench(kind)
    const channels = await start()
    for (const id of ['a\0b', 'a\ud800'])
      for (const said of [{ conversation: id }, { user: id }])
        await expect(say(channels, { text: 'hello', ...said })).rejects.toMatchObject({
          code: 'invalid_body',
        })
    await say(channels, { text: 'a\\u0000b\0c' })
    await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['echo: a\\u0000b\ufffdc'])
  },
)

test('a message without text or a button is rejected, and no row is written', async () => {
  const { store, start } = await makeBench('sqlite')
  const channels = await start()
  for (const said of [{ text: '' }, { text: ' \n' }, { text: '', press: '' }])
    await expect(say(channels, said)).rejects.toMatchObject({
      code: 'invalid_body',
      extra: { errors: [expect.objectContaining({ path: expect.stringMatching(/^(?:text|press)$/) })] },
    })
  const [connection] = await store.channels.listConnections('org_1')
  expect(await store.channels.nextInbound(connection!.id, 10)).toEqual([])
})

test('a webhook-id of more than 256 characters is rejected with the reason', async () => {
  const { start } = await makeBench('sqlite')
  const channels = await start()
  await expect(say(channels, { text: 'hello', id: 'x'.repeat(257) })).rejects.toMatchObject({
    code: 'bad_request',
    message: 'Invalid webhook-id: must have at most 256 characters.',
  })
})

test('the callback gets the updates of a coding run in order', async () => {
  const { store, callback, start } = await makeBench('sqlite', {}, {}, { echo: false })
  const channels = await start()
  await say(channels, { text: 'build it' })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const [session] = await sessionsOf(store)
  const update = (minutes: number) =>
    codeChannelUpdate({ run_id: 'r', agent: 'cairn', text: `Still working: step ${minutes}`, minutes })
  for (const minutes of [1, 2]) await store.commit({ session_id: session!.id, events: [update(minutes)] })
  await store.commit({ session_id: session!.id, events: [response('done')] })
  await expect
    .poll(() => callback.taken.map(({ type, text }) => [type, text]))
    .toEqual([
      ['state', 'Still working: step 1'],
      ['state', 'Still working: step 2'],
      ['answer', 'done'],
    ])
})

/** Promise 15.3: A message that always fails is given up after five attempts and blocks no later one. */
test('a message that fails five times is abandoned visibly, and later ones are processed', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const isPoison = ({ events }: Commit) => JSON.stringify(events).includes('poison')
  const channels = await start(refusing(store, commit => (isPoison(commit) ? new Error('odd') : null)))
  await say(channels, { text: 'poison' })
  await say(channels, { text: 'hello' })
  await expect
    .poll(() => callback.taken.map(({ text }) => text).toSorted(), { timeout: 20_000 })
    .toEqual(['Your message was not accepted: internal error.', 'echo: hello'])
  const [connection] = await store.channels.listConnections('org_1')
  expect(connection).toMatchObject({ last_error: 'message abandoned after 5 attempts: odd' })
  expect(await store.channels.getInbound(connection!.id, 1)).toMatchObject({
    state: 'dropped',
    reason: 'abandoned: odd',
  })
})

test('a body over the platform’s limit is rejected before its signature is checked', async () => {
  const { start } = await makeBench('sqlite')
  const channels = await start()
  const raw = new Uint8Array(1024 * 1024 + 1)
  const refused = call(channels, { headers: new Headers(), raw })
  await expect(refused).rejects.toMatchObject({ code: 'body_too_large' })
})

test('two connections with one secret could read each other’s messages, so both are broken', async () => {
  const twin = {
    platform: 'webhook',
    secret_env: 'HOOK_SECRET',
    callback_url: 'https://bridge.example.org/cairn',
  } as const
  const { store, start } = await makeBench('sqlite', {}, { channels: { twin } })
  const channels = await start()
  expect(channels.paths).toEqual([])
  expect((await store.channels.listConnections('org_1')).map(({ last_error }) => last_error)).toEqual([
    'uses the same secret as the channel twin: each channel needs its own',
    'uses the same secret as the channel hook: each channel needs its own',
  ])
})

test('Retry-After is respected in seconds and as a date, for at most one hour', async () => {
  const { store, callback, start, advance } = await makeBench('sqlite')
  const channels = await start()
  const [connection] = await store.channels.listConnections('org_1')
  const halfAnHour = 1_800_000
  callback.reply({ status: 429, headers: { 'retry-after': '1000000000' } })
  await say(channels, { text: 'hello' })
  const waits = async (attempts: number) => {
    const waiting = async () => (await store.channels.listDeliveries(connection!.id, 'waiting', 1))[0]
    await expect.poll(async () => (await waiting())?.attempts).toBe(attempts)
    // The conversation is postponed after its part; a clock change between the two would shift it.
    const due = () => store.channels.dueConversations(connection!.id, '', 1)
    await expect.poll(due).toEqual([])
    const { next_at, updated_at } = (await waiting())!
    return next_at - updated_at
  }
  expect(await waits(1)).toBe(2 * halfAnHour)
  const date = new Date(Date.now() + halfAnHour).toUTCString()
  callback.reply({ status: 429, headers: { 'retry-after': date } })
  advance(2 * halfAnHour)
  expect(await waits(2)).toBeGreaterThan(halfAnHour - 60_000)
  advance(halfAnHour)
  await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['echo: hello'])
})

test('a lease is released after the work in progress is settled', async () => {
  const { store, callback, start } = await makeBench('sqlite')
  const done: string[] = []
  const settleDelivery: LogStore['channels']['settleDelivery'] = async (...args) => {
    const answer = await store.channels.settleDelivery(...args)
    done.push('settled')
    return answer
  }
  const release: LogStore['channels']['release'] = (id, role, holder) => {
    if (role === 'deliver') done.push('released')
    return store.channels.release(id, role, holder)
  }
  const noted = { ...store.channels, settleDelivery, release }
  const channels = await start({ ...store, channels: noted })
  callback.replyAlways('hang')
  await say(channels, { text: 'hello' })
  await expect.poll(() => callback.refused).toHaveLength(1)
  await channels.stop()
  expect(done).toEqual(['settled', 'released'])
})

test('a callback URL with credentials is rejected with the configuration', async () => {
  const callback_url = 'https://ann:secret@bridge.example.org/cairn'
  await expect(makeBench('sqlite', { callback_url })).rejects.toThrow('must not contain a user or password')
})

test('long-running conversations without output do not delay another conversation', async () => {
  const { store, callback, start } = await makeBench('sqlite', {}, {}, { echo: false })
  const channels = await start()
  for (let at = 0; at < 40; at++)
    await say(channels, { text: `m${at}`, conversation: `C${at}`, user: `U${at}` })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(40)
  const [connection] = await store.channels.listConnections('org_1')
  const last = (await store.channels.dueConversations(connection!.id, '', 100)).at(-1)
  await store.commit({ session_id: last!.session_id, events: [response('here')] })
  await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['here'])
})
