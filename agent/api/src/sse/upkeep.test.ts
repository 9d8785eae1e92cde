import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Identity } from '../auth/authenticate.ts'
import { Connection } from './connection.ts'
import { chunk } from './frames.ts'
import type { OpenStream } from './open-streams.ts'
import { createUpkeep } from './upkeep.ts'

const STALL_MS = 2_000
const RECORD = 24 * 1024 * 1024

const IDENTITY: Identity = {
  principal: {
    kind: 'user',
    id: 'user',
    org_id: 'org',
    admin: false,
    name: 'User',
    email: 'user@example.org',
  },
  by: 'token',
  loginId: null,
  renewedCookie: null,
}

/** The server's end of a connection whose peer reads nothing. */
async function socketWithFullPeer(): Promise<Socket> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  const [socket] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => {
    peer.destroy()
    socket.destroy()
    server.close()
  })
  return socket
}

/** A stream within a large record, and a check of it after some time in which the peer acknowledged bytes. */
async function openStream() {
  const socket = await socketWithFullPeer()
  let at = 0
  let queued: number | null = 4_000_000
  const connection = new Connection(socket, true, () => at)
  const open: OpenStream = {
    connection,
    identity: IDENTITY,
    lacks: () => connection.unsent(),
  }
  const check = createUpkeep(
    [open],
    { heartbeatMs: 10_000, stallMs: STALL_MS },
    { info: () => {}, warn: () => {}, error: () => {} },
    () => at,
    () => Promise.resolve(() => queued),
  )
  connection.write(chunk('x'.repeat(RECORD)))
  // Bytes that the kernel accepts at once count as progress, too.
  let before = 0
  do {
    before = connection.unsent()
    await setImmediate()
  } while (connection.unsent() !== before)
  check()
  return {
    socket,
    setQueued: (bytes: number | null) => void (queued = bytes),
    async after(ms: number, acknowledged: number): Promise<void> {
      at += ms
      if (queued !== null) queued -= acknowledged
      check()
      await setImmediate()
    },
  }
}

/** Promise 3.6: A slow reader of a large record stays connected while it makes progress. */
test('a slow reader of a large record stays connected while the kernel reports acknowledgements', async () => {
  const stream = await openStream()
  // The socket itself reports room only every few seconds.
  for (let round = 0; round < 20; round += 1) await stream.after(STALL_MS * 0.9, 60_000)
  expect(stream.socket.destroyed).toBe(false)
})

test('a reader that acknowledges nothing for the time of a stall is disconnected', async () => {
  const stream = await openStream()
  for (let round = 0; round < 3; round += 1) await stream.after(STALL_MS * 0.9, 60_000)
  await stream.after(STALL_MS * 0.9, 0)
  expect(stream.socket.destroyed).toBe(false)
  await stream.after(STALL_MS * 0.2, 0)
  expect(stream.socket.destroyed).toBe(true)
})

test("without the kernel's tables, only room at the socket is progress", async () => {
  const stream = await openStream()
  stream.setQueued(null)
  await stream.after(STALL_MS * 0.6, 0)
  expect(stream.socket.destroyed).toBe(false)
  await stream.after(STALL_MS * 1.1, 0)
  expect(stream.socket.destroyed).toBe(true)
})
