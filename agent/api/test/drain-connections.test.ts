/** Contract 12.3: idle connections do not delay the shutdown of the server. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type Service, startService } from './service.ts'
import { openStream } from './stream.ts'

/** Far below the 75 s after which an idle kept-alive connection ends by itself. */
const SOON_MS = 20_000
const end = (socket: Socket) => once(socket, 'end', { signal: AbortSignal.timeout(SOON_MS) })
const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

/** Opens a connection and, if it asks, waits for the answer. */
async function openConnection(port: number, asks: boolean): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  if (asks) {
    socket.write(REQUEST)
    await once(socket, 'data')
  }
  return socket
}

const countConnections = (service: Service): Promise<number> =>
  new Promise((resolve, reject) =>
    service.api.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

test('a drain closes kept-alive and unused connections at once', async () => {
  await using service = await startService()
  const sockets = [await openConnection(service.port, true), await openConnection(service.port, false)]
  const ends = sockets.map(socket => end(socket.resume()))
  // The server has accepted the last connection before the drain starts.
  await service.call('/healthz')
  await service.api.drain()
  await Promise.all(ends)
  expect(sockets.map(socket => socket.readableEnded)).toEqual([true, true])
})

test('a connection ends together with its drained stream, even if the client keeps it open', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const stream = await openStream(service, `/v1/sessions/${id}/events`)
  await stream.until(({ text }) => text().includes(': connected'))
  await service.api.drain()
  await expect.poll(() => stream.text(), { message: 'the end of the stream' }).toContain(': draining')
  await expect.poll(() => countConnections(service), { message: 'open connections' }).toBe(0)
  stream.close()
})

test('a request in progress at the start of a drain is answered', async () => {
  await using service = await startService()
  const socket = await openConnection(service.port, false)
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n')
  await service.call('/healthz')
  const drained = service.api.drain()
  let text = ''
  socket.on('data', chunk => (text += String(chunk)))
  const ended = end(socket)
  socket.write('abc')
  await ended
  expect(text).toContain('200 OK')
  await drained
})
