/** Connections that administrators create, change and delete on the page while the service runs. */
import { randomUUID } from 'node:crypto'
import type { Channels } from '@cairn/channels'
import {
  changeConnection,
  createConnection,
  createSealing,
  deleteConnection,
  planTestMessage,
} from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Bench, KINDS, makeBench, ORG } from './bench.ts'
import { SECRET, signed } from './signed.ts'

/** Connections are polled every second. */
const SOON = { timeout: 10_000 }
const OTHER = `whsec_${Buffer.alloc(32, 11).toString('base64')}`

function connectionsOf({ store, callback, sealing, users }: Bench) {
  const deps = { store, newId: randomUUID, sealing, agents: ['greeter'], urlProblem: () => null }
  const settings = {
    platform: 'webhook',
    callback_url: callback.url,
    access: 'open',
    agent: 'greeter',
  }
  const make = (name = 'support', secret = SECRET) =>
    createConnection(deps, { org_id: ORG, id: users.root }, { name, settings, secrets: { secret } })
  const row = async (id: string) => {
    const found = await store.channels.getConnection(id)
    if (found === null) throw new Error('it is gone')
    return found
  }
  return { deps, settings, make, row }
}
const say = async (channels: Channels, id: string, text: string, secret = SECRET): Promise<number> => {
  const call = { method: 'POST', path: `/v1/channels/${id}/webhook`, query: new URLSearchParams() }
  const { signal } = new AbortController()
  return channels.handle({ ...call, signal, address: '192.0.2.1', ...signed({ text, secret }) }).then(
    ({ status }) => status,
    (error: { status: number }) => error.status,
  )
}

/** Promise 15.3: A connection created on the page runs at once and ends when it is deleted. */
test.each(KINDS)(
  'on %s a page connection starts when created, switches to a changed secret, and ends when deleted',
  async kind => {
    const bench = await makeBench(kind, {}, {}, { only: {} })
    const channels = await bench.start()
    const { deps, make, row } = connectionsOf(bench)
    const id = await make()
    const stored = JSON.stringify(await row(id))
    expect(stored).not.toContain(SECRET.slice('whsec_'.length))
    expect(await say(channels, id, 'hello')).toBe(200)
    await expect.poll(() => bench.callback.taken.map(({ text }) => text)).toEqual(['echo: hello'])

    await changeConnection(deps, await row(id), { secrets: { secret: OTHER } })
    expect(await say(channels, id, 'with the old one')).toBe(401)
    expect(await say(channels, id, 'with the new one', OTHER)).toBe(200)
    await bench.store.channels.disableConnection(id)
    expect(await say(channels, id, 'nobody hears', OTHER)).toBe(404)
    await deleteConnection(deps, await row(id))
    expect(await say(channels, id, 'nobody is there', OTHER)).toBe(404)
  },
)

/** Promise 15.4: A disabled connection stays disabled after a restart. */
test('a connection disabled by a 410 stays disabled after a restart, until it is enabled', async () => {
  const bench = await makeBench('sqlite')
  const { store, callback, start } = bench
  const first = await start()
  const [hook] = await store.channels.listConnections(ORG)
  const state = async () => (await store.channels.getConnection(hook!.id))?.state
  callback.reply(410)
  expect(await say(first, hook!.id, 'one')).toBe(200)
  await expect.poll(state).toBe('disabled')
  await first.stop()

  const second = await start()
  expect(await state()).toBe('disabled')
  expect(await say(second, hook!.id, 'two')).toBe(404)
  await store.channels.enableConnection(hook!.id)
  await expect.poll(() => say(second, hook!.id, 'three')).toBe(200)
  await expect.poll(() => callback.taken.map(({ text }) => text)).toContain('echo: three')
})

test('a connection answers with an agent that was added while the service runs', async () => {
  const bench = await makeBench('sqlite', {}, {}, { only: {} })
  const channels = await bench.start()
  const { deps, settings } = connectionsOf(bench)
  bench.setAgents(['greeter', 'newcomer'])
  const id = await createConnection(
    { ...deps, agents: ['newcomer'] },
    { org_id: ORG, id: bench.users.root },
    { name: 'support', settings: { ...settings, agent: 'newcomer' }, secrets: { secret: SECRET } },
  )
  expect(await say(channels, id, 'hello')).toBe(200)
  await expect.poll(() => bench.callback.taken.map(({ text }) => text), SOON).toEqual(['echo: hello'])
  const { sessions } = await bench.store.sessions.list({ org_id: ORG, limit: 5 })
  expect(sessions.map(({ agent }) => agent)).toEqual(['newcomer'])
})

test('a connection starts once its agent is added, and stops when the agent is removed', async () => {
  const bench = await makeBench('sqlite', { agent: 'newcomer' })
  const channels = await bench.start()
  const [hook] = await bench.store.channels.listConnections(ORG)
  const row = () => bench.store.channels.getConnection(hook!.id)
  expect(await row()).toMatchObject({
    state: 'broken',
    last_error: 'unknown agent "newcomer": must be one of assistant, greeter',
  })
  bench.setAgents(['newcomer'])
  await expect.poll(row, SOON).toMatchObject({ state: 'live', last_error: null })
  // The state is written a moment before requests find the connection.
  await expect.poll(() => say(channels, hook!.id, 'hello'), SOON).toBe(200)
  await expect.poll(() => bench.callback.taken.map(({ text }) => text), SOON).toEqual(['echo: hello'])
  bench.setAgents(['greeter'])
  await expect.poll(row, SOON).toMatchObject({ state: 'broken' })
  expect(await say(channels, hook!.id, 'is anyone there')).toBe(404)
})

test('a test message goes to its conversation; if rejected, it is a failed delivery that can be resent', async () => {
  const bench = await makeBench('sqlite', {}, {}, { only: {} })
  await bench.start()
  const { deps, make, row } = connectionsOf(bench)
  const { channels } = bench.store
  const id = await make()
  await expect.poll(async () => (await row(id)).state, SOON).toBe('live')
  bench.callback.reply(400)
  const key = await planTestMessage({ ...deps, now: Date.now }, await row(id), 'C7')
  await expect.poll(async () => (await channels.deliveryOfKey(id, key))?.state, SOON).toBe('dead')
  await expect
    .poll(() => row(id), SOON)
    .toMatchObject({ state: 'degraded', last_error: 'the callback returned 400' })
  await channels.redoDelivery(id, key)
  await expect.poll(() => bench.callback.taken, SOON).toHaveLength(1)
  expect(bench.callback.taken[0]).toMatchObject({
    key,
    type: 'notice',
    conversation_id: 'C7',
    text: 'This is a test message of the channel support.',
  })
  await channels.disableConnection(id)
  await expect(planTestMessage({ ...deps, now: Date.now }, await row(id), 'C7')).rejects.toThrow('disabled')
})

test('secrets of another key or of another connection leave a connection broken', async () => {
  const bench = await makeBench('sqlite', {}, {}, { only: {} })
  const { deps, make, row } = connectionsOf(bench)
  const id = await make()
  const foreign = await connectionsOf({
    ...bench,
    sealing: createSealing({ file: 'none', key: OTHER.slice(6) }),
  }).make('foreign', OTHER)
  await bench.start()
  expect(await row(foreign)).toMatchObject({
    state: 'broken',
    last_error: expect.stringContaining('enter them again'),
  })
  const twin = await make('twin')
  await expect
    .poll(() => row(twin), SOON)
    .toMatchObject({
      state: 'broken',
      last_error: expect.stringContaining('uses the same secret as the channel support'),
    })
  expect((await row(id)).state).toBe('live')
  await changeConnection(deps, await row(foreign), { secrets: { secret: OTHER } })
  await expect.poll(async () => (await row(foreign)).state, SOON).toBe('live')
})

test('invalid settings are rejected before anything is written', async () => {
  const bench = await makeBench('sqlite', {}, {}, { only: {} })
  const { deps, settings, make, row } = connectionsOf(bench)
  const by = { org_id: ORG, id: bench.users.root }
  const wish = (given: object, secrets: Record<string, string> = { secret: SECRET }, more = {}) =>
    createConnection({ ...deps, ...more }, by, { name: 'x', settings: { ...settings, ...given }, secrets })
  await expect(wish({}, {})).rejects.toMatchObject({
    code: 'invalid_body',
    message: expect.stringMatching(/^secret:/),
  })
  await expect(wish({ secret_env: 'HOME' }, {})).rejects.toMatchObject({ code: 'invalid_body' })
  await expect(wish({ agent: 'gretter' })).rejects.toMatchObject({ code: 'unknown_agent' })
  await expect(wish({ agent: undefined })).rejects.toThrow('must not get the default agent')
  const inside = { urlProblem: () => 'is inside' }
  await expect(wish({}, { secret: SECRET }, inside)).rejects.toThrow('callback_url: is inside')
  expect(await bench.store.channels.listConnections(ORG)).toEqual([])
  const id = await make()
  await expect(make()).rejects.toMatchObject({ code: 'wrong_state' })
  const other = { settings: { ...settings, platform: 'website' } }
  await expect(changeConnection(deps, await row(id), other)).rejects.toMatchObject({ code: 'invalid_body' })
})
