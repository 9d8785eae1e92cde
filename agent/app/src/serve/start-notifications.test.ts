/**
 * A webhook's address is checked at each connection, regardless of earlier lookups (docs/notifications.md).
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeStage } from '@cairn/channels/test/notification-stage'
import { createRedactor } from '@cairn/log'
import { Config } from '@cairn/protocol'
import { setNotificationWebhook } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { startNotifying } from './start-notifications.ts'

const REFUSED = 'the webhook has an internal address, which is not allowed'
/** The only internal address that the configuration of these tests allows. */
const OPEN = '127.0.0.2'

/** Counts connections: a connection may be opened even if no request is sent. */
async function listen(host: string, port = 0, onRequest?: Parameters<typeof createServer>[1]) {
  const server: Server = createServer({}, onRequest ?? ((_, response) => void response.writeHead(204).end()))
  let connections = 0
  server.on('connection', () => void (connections += 1))
  await new Promise<void>(resolve => server.listen(port, host, resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

/** Sends Ann's notifications to `url`. `addresses` are the results of successive lookups of its name. */
async function begin(url: string, addresses: string[][] = []) {
  const stage = await makeStage()
  await setNotificationWebhook(stage.deps, stage.ann, url)
  const parts = new AsyncDisposableStack()
  onTestFinished(() => parts.disposeAsync())
  let lookups = 0
  const admin = (await stage.store.accounts.getUser(stage.ann.id))!
  startNotifying(
    {
      role: 'api',
      config: Config.parse({ notices: { egress: { internal: [OPEN] } } }),
      env: {},
      sealing: stage.deps.sealing,
      redact: createRedactor([]),
      resolveHost: () => {
        const answer = addresses[Math.min(lookups, addresses.length - 1)] ?? []
        lookups += 1
        return Promise.resolve(answer.map(address => ({ address, family: address.includes(':') ? 6 : 4 })))
      },
    },
    stage.store,
    admin,
    () => undefined,
    parts,
  )
  return { ...stage, lookups: () => lookups }
}

test('calls a webhook whose name resolves to an allowed address', async () => {
  const there = await listen(OPEN)
  const stage = await begin(`http://hook.test:${there.port}/`, [[OPEN]])
  await stage.raise()
  await expect.poll(stage.recent).toEqual([{ state: 'sent', attempts: 1, error: null }])
  expect([there.connections(), stage.lookups()]).toEqual([1, 1])
})

test.each([
  ['this machine', ['127.0.0.1']],
  ['this machine in IPv6', ['::1']],
  ['a mapped address', ['::ffff:127.0.0.1']],
  ['an embedded address', ['64:ff9b::7f00:1']],
  ['a private address', ['10.0.0.7']],
  ['the credentials of a cloud', ['169.254.169.254']],
  ['an allowed address and one inside', [OPEN, '127.0.0.1']],
])('does not connect to a name that resolves to %s, and gives up the notification', async (_, addresses) => {
  const inside = await listen('::')
  const stage = await begin(`http://hook.test:${inside.port}/`, [addresses])
  await stage.raise()
  await expect.poll(stage.recent).toEqual([{ state: 'dead', attempts: 1, error: REFUSED }])
  expect(inside.connections()).toBe(0)
})

test.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:7f00:1]', 'localhost', '10.0.0.7'])(
  'does not connect to a stored webhook at %s that a newer rule forbids',
  async host => {
    const inside = await listen('::')
    const stage = await begin(`http://${host}:${inside.port}/`, [['127.0.0.1']])
    await stage.raise()
    await expect
      .poll(stage.recent)
      .toMatchObject([{ state: 'dead', attempts: 1, error: expect.stringContaining('egress.internal') }])
    expect(inside.connections()).toBe(0)
  },
)

/** Promise 4.19: A webhook's address is checked at each connection, and the checked address is used. */
test('checks the address of a name at each connection, and connects to the checked address', async () => {
  const allowed = await listen(OPEN, 0, (_, response) =>
    // The connection ends with the answer, so that the next attempt opens a new one.
    response.writeHead(503, { connection: 'close' }).end(),
  )
  const inside = await listen('127.0.0.1', allowed.port)
  const stage = await begin(`http://rebinding.test:${allowed.port}/`, [[OPEN], ['127.0.0.1']])
  await stage.raise()
  await expect.poll(stage.recent).toMatchObject([{ state: 'due', error: 'the webhook returned 503' }])
  expect([allowed.connections(), stage.lookups()], 'looked up once a dial').toEqual([1, 1])
  stage.advance(60_000)
  await expect.poll(stage.recent).toEqual([{ state: 'dead', attempts: 2, error: REFUSED }])
  expect([allowed.connections(), inside.connections(), stage.lookups()]).toEqual([1, 0, 2])
})

test.each([302, 307])('does not follow a redirect with status %i', async status => {
  const inside = await listen('127.0.0.1')
  const allowed = await listen(OPEN, 0, (_, response) =>
    response.writeHead(status, { location: `http://127.0.0.1:${inside.port}/` }).end(),
  )
  const stage = await begin(`http://hook.test:${allowed.port}/`, [[OPEN]])
  await stage.raise()
  await expect
    .poll(stage.recent)
    .toMatchObject([{ state: 'due', attempts: 1, error: `the webhook returned ${status}` }])
  expect([allowed.connections(), inside.connections()]).toEqual([1, 0])
})
