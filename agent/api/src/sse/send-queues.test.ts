import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseSendQueues, readSendQueues } from './send-queues.ts'

const TABLE =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n' +
  '   0: 0100007F:1F90 0100007F:C350 01 00001000:00000000 01:00000018 00000000     0        0 1 2 ' +
  '0000000061351469 20 4 30 10 -1\n' +
  '   1: 0100007F:1F90 0200007F:C350 01 00000002:00000000 00:00000000 00000000     0        0 2 1 ' +
  '0000000049c9e0f8 20 4 30 10 -1\n' +
  '  10: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C351 01 ' +
  '00000003:00000000 00:00000000 00000000     0        0 3 1 0000000061351469 20 4 30 10 -1\n' +
  '  11: B80D0120000000000000000001000000:1F90 B80D0120000000000000000002000000:C352 01 ' +
  '00000004:00000000 00:00000000 00000000     0        0 4 1 0000000061351469 20 4 30 10 -1\n'

test.each([
  ['127.0.0.1', 0xc350, 0x1000],
  ['127.0.0.2', 0xc350, 2],
  ['::ffff:127.0.0.1', 0xc351, 3],
  ['2001:db8::2', 0xc352, 4],
  ['127.0.0.3', 0xc350, null],
  ['127.0.0.1', 0xc351, null],
])('reads the send queue to %s port %d', (remoteAddress, remotePort, expected) => {
  expect(parseSendQueues(TABLE)({ localPort: 8080, remoteAddress, remotePort })).toBe(expected)
})

test.each(['127.0.0.1', '::1', '::'])(
  'on Linux the send queue contains what a reader on %s has not read',
  async host => {
    if (process.platform !== 'linux') return
    let served: Socket | null = null
    const server = createServer(socket => {
      served = socket
      socket.write(Buffer.alloc(64 * 1024 * 1024))
    })
    onTestFinished(() => void server.close())
    server.listen(0, host)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const reader = connect(port, host === '::' ? '127.0.0.1' : host)
    onTestFinished(() => {
      reader.destroy()
      served?.destroy()
    })
    await once(reader, 'connect')
    reader.pause()
    await expect
      .poll(async () => (served === null ? null : (await readSendQueues())(served)))
      .toBeGreaterThan(10_000)
  },
)
