/**
 * Clients that start a request, never finish it, and keep their half of the connection open: each costs a
 * descriptor for a bounded time (contract 4.4).
 */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { type Service, startService } from '../service.ts'

const EACH = rounds(50, 400)

const UNREAD = 'requests whose answers they never read'
/** What each client sends, once. */
const BEGINNINGS: Record<string, (token: string) => string> = {
  'nothing at all': () => '',
  'half of their headers': () => 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Half: ',
  'half of their body': () =>
    'POST /v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ' +
    '100\r\n\r\n{"email":',
  'no HTTP': () => 'hello there\r\n\r\n',
  'headers that are too long': () =>
    `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
  'a body that is refused by its length': () =>
    'POST /v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ' +
    '2000000000\r\n\r\n{',
  'a whole request that closes': () => 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  [UNREAD]: token =>
    `GET /openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(40),
}

const connections = (service: Service): Promise<number> =>
  new Promise((resolve, reject) =>
    service.api.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

async function keepHalf(service: Service, text: string): Promise<Socket> {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  // The server may reset the connection, which ends it as well.
  socket.on('error', () => {})
  await once(socket, 'connect')
  if (text !== '') socket.write(text)
  return socket
}

/** Promise 4.4: Half-open connections hold no file descriptor for long. */
test.each(Object.entries(BEGINNINGS))(
  'clients that send %s and keep their half open hold no descriptor for long',
  async (what, beginning) => {
    await using service = await startService({
      // A connection without traffic ends after a while in any case; only unread answers need that.
      tuning: { headersMs: 300, requestMs: 600, lookMs: 50, idleMs: what === UNREAD ? 500 : 3_600_000 },
    })
    const text = beginning(service.adminToken)
    // Each unread answer costs megabytes of buffers on both sides.
    const count = what === UNREAD ? EACH / 5 : EACH
    const clients = await Promise.all(Array.from({ length: count }, () => keepHalf(service, text)))
    try {
      await expect.poll(() => connections(service)).toBe(0)
    } finally {
      tally('connections half open', count, await connections(service))
    }
    expect(clients.every(socket => socket.writable || socket.destroyed)).toBe(true)
    expect((await service.call('/healthz')).status).toBe(200)
  },
)
