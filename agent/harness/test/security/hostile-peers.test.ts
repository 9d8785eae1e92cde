/**
 * Peers of the service's own connections that violate their protocols: servers behind the policy proxy, a
 * remote browser, a process in a closed sandbox. Each ends its own connection and never the process (contract
 * 11.12).
 */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { GovernanceConfig } from '@cairn/protocol'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { tally } from '@cairn/protocol/test/attacks'
import { openCdpRelay } from '../../src/capabilities/browser/cdp-relay.ts'
import { sandboxId, createPolicyProxy, COMMAND_PATH } from '@cairn/sandbox'
import { tagContainer } from '@cairn/sandbox/internal/process-tags'
import { unsandboxed } from '@cairn/sandbox/test/providers'
import { makeFolder } from '../tools/tool-context.ts'

const uncaught: unknown[] = []
const watch = (error: unknown): void => void uncaught.push(error)
process.on('uncaughtExceptionMonitor', watch)
beforeEach(() => void uncaught.splice(0))
afterAll(() => void process.off('uncaughtExceptionMonitor', watch))

let answer = ''
const upstream = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', () => (answer === '' ? socket.resetAndDestroy() : socket.end(answer)))
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
const { port } = upstream.address() as AddressInfo
const proxy = createPolicyProxy({
  ports: [port],
  resolveHost: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
})
const { socket } = await proxy.open({
  id: 'box',
  egress: GovernanceConfig.parse({ egress: { internal: ['up.test'] } }).egress,
})
afterAll(async () => {
  await proxy.close()
  upstream.close()
})

async function answerOf(connection: Socket, request: string): Promise<string> {
  let text = ''
  connection.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  connection.on('error', () => {})
  connection.write(request)
  await once(connection, 'close')
  return text
}

const HEAD = 'HTTP/1.1 200 OK\r\n'
const ANSWERS: Record<string, readonly [answer: string, status: number | null]> = {
  'status 099': ['HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n', 502],
  'status 000': ['HTTP/1.1 000 x\r\n\r\n', 502],
  'status 999': ['HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n', 999],
  'an upgrade that nobody asked for': ['HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', 502],
  'status 100 and nothing else': ['HTTP/1.1 100 Continue\r\n\r\n', 502],
  'text that is not HTTP': ['hello', 502],
  'a reset': ['', 502],
  'a control character in a header': [`${HEAD}X: a\x01b\r\n\r\n`, 502],
  'two lengths': [`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\na`, 502],
  'a header named __proto__': [`${HEAD}__proto__: x\r\nContent-Length: 0\r\n\r\n`, 200],
  'a chunk size that is not a number': [`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, null],
  'half of its body': [`${HEAD}Content-Length: 50\r\n\r\nhi`, 200],
}

/** Promise 11.12: A peer that violates its protocol ends only its own connection. */
test.each(
  Object.entries(ANSWERS).flatMap(([what, [text, status]]) =>
    ['GET', 'HEAD', 'POST'].map(method => ({ what, text, status, method })),
  ),
)('a server that answers $method with $what ends only that request', async ({ text, status, method }) => {
  answer = text
  const connection = connect(socket)
  const body = method === 'POST' ? 'Content-Length: 3\r\n\r\nabc' : '\r\n'
  const said = await answerOf(
    connection,
    `${method} http://up.test:${port}/ HTTP/1.1\r\nHost: up.test\r\nConnection: close\r\n${body}`,
  )
  tally('answers of hostile web servers', 1, uncaught.length)
  expect(uncaught).toEqual([])
  if (status !== null) expect(said).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

/**
 * A relay to a browser that runs `send` when a client has connected. Resolves when the relay has closed the
 * client.
 */
async function relayTo(send: (browser: WebSocket) => void): Promise<void> {
  const server = createHttpServer().listen(0, '127.0.0.1')
  const browsers = new WebSocketServer({ server })
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const opened = once(browsers, 'connection') as Promise<[WebSocket]>
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  const relay = await openCdpRelay({ url, refuses: () => false, timeoutMs: 10_000 })
  onTestFinished(() => relay.close())
  const client = new WebSocket(relay.url)
  client.on('error', () => {})
  const closed = once(client, 'close')
  await once(client, 'open')
  const [browser] = await opened
  browser.on('error', () => {})
  send(browser)
  browser.close()
  await closed
}

const rawOf = (browser: WebSocket): Socket => (browser as unknown as { _socket: Socket })._socket

test.each<readonly [string, (browser: WebSocket) => void]>([
  ['text that is not JSON', browser => browser.send('{"method":"Fetch.requestPaused"')],
  ['a message of another shape', browser => browser.send('["Fetch.requestPaused"]')],
  ['a reserved opcode', browser => rawOf(browser).write(Buffer.from([0x83, 0]))],
  ['a masked frame', browser => rawOf(browser).write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]))],
  ['half of a frame', browser => rawOf(browser).end(Buffer.from([0x81, 0x7e]))],
])('a remote browser that sends %s ends only its own session', async (_what, send) => {
  await relayTo(send)
  tally('messages of a hostile browser', 1, uncaught.length)
  expect(uncaught).toEqual([])
})

test('a process that closes its stdin breaks only that pipe', async () => {
  // Without a sandbox, no other process holds the reading end of the pipe.
  const box = unsandboxed(tagContainer).open({
    id: sandboxId('s1', 'pipes'),
    workspace: makeFolder('pipes'),
    env: { PATH: COMMAND_PATH },
    network: 'none',
    mayGrowFiles: true,
  })
  const { stdin, stdout } = box.spawn(['bash', '-c', 'exec 0<&-; echo closed; exec sleep 60'], {
    stdin: 'pipe',
  })
  if (stdin === null) throw new Error('the process has no stdin')
  await once(stdout, 'data')
  expect(await new Promise(resolve => stdin.write('x', resolve))).toMatchObject({ code: 'EPIPE' })
  await box.close()
  expect(uncaught).toEqual([])
})
