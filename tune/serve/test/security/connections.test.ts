/** Hundreds of broken connections at once: the server stays up and answers others meanwhile. */
import { connect, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { openFixture } from '../server-fixture.ts'
import { attempts, tally } from './attacks.ts'
import { measureLoopDelay } from './loop-delay.ts'

const lines: string[] = []
const server = await openFixture({ maxModelLen: 256, log: line => lines.push(line) })
const open = new Set<Socket>()
afterAll(async () => {
  for (const socket of open) socket.destroy()
  await server.close()
})
const { port } = new URL(server.url)

const prompt = JSON.stringify({ prompt: 'a', max_tokens: 200, stream: true, n: 4, ignore_eos: true })
const head = (length: number, ...more: string[]) =>
  ['POST /v1/completions HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', ...more]
    .concat(`Content-Length: ${length}`, '', '')
    .join('\r\n')
const whole = head(prompt.length) + prompt
const garbage = (i: number) => Buffer.from(Array.from({ length: 200 }, (_, j) => (i * 131 + j * 17) & 255))

type Break = (socket: Socket, i: number) => void
const reset: Break = socket => void socket.resetAndDestroy()
const BREAKS: Record<string, Break> = {
  'a reset at once': reset,
  'a reset within the head': (socket, i) => {
    socket.write(whole.slice(0, 10 + (i % 100)))
    reset(socket, i)
  },
  'a reset within the body': (socket, i) => {
    socket.write(whole.slice(0, whole.length - 1 - (i % 40)))
    reset(socket, i)
  },
  'a reset while the answer is streamed': (socket, i) => {
    socket.write(whole)
    socket.once('data', () => reset(socket, i))
  },
  'an end within the body': (socket, i) => void socket.end(whole.slice(0, whole.length - 1 - (i % 40))),
  'an end after the request': socket => void socket.end(whole),
  'a body that is shorter than announced': socket => void socket.write(head(100_000) + prompt),
  'a body that is longer than announced': socket => void socket.write(head(3) + prompt),
  'nothing at all': () => undefined,
  'a head that stays open': socket =>
    void socket.write('POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX: '),
  'an answer that is not read': socket => {
    socket.pause()
    socket.write(whole)
  },
  'bytes without meaning': (socket, i) => void socket.write(garbage(i)),
  'bytes without meaning after a request': (socket, i) => {
    socket.write(whole)
    socket.write(garbage(i))
  },
  'a handshake of TLS': socket => void socket.write(Buffer.from('160301020001000001fc0303', 'hex')),
  'the preface of HTTP/2': socket => void socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  'a tunnel': socket => void socket.write('CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\nSSH-2.0'),
  'an upgrade and frames': (socket, i) => {
    socket.write(
      'GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    socket.write(garbage(i))
  },
  'chunks of a broken length': socket =>
    void socket.write(
      head(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked') + 'zz\r\n{}\r\n0\r\n\r\n',
    ),
  'a chunk that never ends': socket =>
    void socket.write(head(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked') + 'ffffff\r\n{'),
  'two requests, the second one cut': socket => void socket.write(whole + whole.slice(0, 60)),
  '300 requests at once': socket =>
    void socket.write('GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(300)),
}

/** Opens a connection and breaks it; resolves when the bytes are sent. */
function breakOne(how: Break, i: number): Promise<void> {
  return new Promise(resolve => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      how(socket, i)
      resolve()
    })
    open.add(socket)
    socket.on('error', () => resolve())
    socket.on('close', () => open.delete(socket))
    if (how !== BREAKS['an answer that is not read']) socket.resume()
  })
}

const running = async (): Promise<number> => {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  return ['running', 'waiting'].reduce(
    (sum, kind) =>
      sum + Number(new RegExp(`^vllm:num_requests_${kind}\\{[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1]),
    0,
  )
}

/** Promise T6.9: Broken connections do not stop the inference server. */
test('hundreds of broken connections neither stop the server nor block other requests', async () => {
  const rounds = attempts(15, 100)
  const all = Object.values(BREAKS).flatMap(how =>
    Array.from({ length: rounds }, (_, i) => [how, i] as const),
  )
  const asked: number[] = []
  const over = new AbortController()
  async function askOthers(): Promise<void> {
    while (!over.signal.aborted || asked.length < 20) {
      const before = performance.now()
      expect((await fetch(`${server.url}/health`)).status).toBe(200)
      asked.push(performance.now() - before)
    }
  }
  const others = askOthers()
  const { ms } = await measureLoopDelay(() => Promise.all(all.map(([how, i]) => breakOne(how, i))))
  over.abort()
  await others
  const max = Math.max(...asked)
  console.log(
    `${all.length} broken connections; ${asked.length} requests of others took at most ` +
      `${max.toFixed(0)} ms, ${ms.toFixed(0)} ms without a turn`,
  )
  tally('broken connections', all.length, max < 10_000 ? 0 : 1)
  // CPU time of this thread, with a generous bound for a busy machine.
  expect(ms).toBeLessThan(1000)
  expect(max).toBeLessThan(10_000)
  for (const socket of open) socket.destroy()
  // Nothing is generated for closed connections.
  await expect.poll(running).toBe(0)
  const { status } = await server.post('/v1/completions', { prompt: 'a', max_tokens: 2 })
  expect(status).toBe(200)
  expect(lines.filter(line => line.includes('Error'))).toEqual([])
})

test('closes a connection that sends no complete request', async () => {
  const strict = await openFixture({ headersTimeoutMs: 40 })
  const beginnings = ['', 'GET', whole.slice(0, 60), head(10), head(10) + '{"']
  const ends = beginnings.map(
    text =>
      new Promise<void>(resolve => {
        const socket = connect(Number(new URL(strict.url).port), '127.0.0.1', () => socket.write(text))
        socket.on('error', () => undefined)
        socket.on('close', () => resolve())
        socket.resume()
      }),
  )
  await Promise.all(ends)
  tally('connections that stay open', ends.length, 0)
  await strict.close()
})
