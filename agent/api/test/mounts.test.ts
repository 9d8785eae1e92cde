/** Mounts that have the API identify their callers: what holds for its own routes and streams holds for them. */
import { AppError } from '@cairn/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Mount } from '../src/index.ts'
import { startService } from './service.ts'

/** Streams of a mount, whose writer the test holds. */
function createMount() {
  const streams: ReadableStreamDefaultController<Uint8Array>[] = []
  let cancelled = 0
  const callers: unknown[] = []
  const mount: Mount = {
    prefix: '/compat/test/',
    identify: true,
    errorFor: ({ code, status }) => Response.json({ own: code }, { status }),
    async handle({ path, caller, method }) {
      callers.push(caller?.by ?? method)
      await Promise.resolve()
      if (path.endsWith('/refuse')) throw new AppError('not_found', 'no')
      if (path.endsWith('/fail')) throw new Error('a bug')
      if (!path.endsWith('/stream')) return Response.json({ id: caller?.principal.id ?? null })
      const body = new ReadableStream<Uint8Array>({
        start: controller => void streams.push(controller),
        cancel: () => void cancelled++,
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-own': 'yes' } })
    },
  }
  return { mount, streams, callers, cancelled: () => cancelled }
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

async function read(body: ReadableStream<Uint8Array> | null, until: RegExp): Promise<string> {
  if (body === null) throw new Error('no body')
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!until.test(text)) {
    const { done, value } = await reader.read()
    if (done) return `${text}<end>`
    text += decoder.decode(value, { stream: true })
  }
  reader.releaseLock()
  return text
}

test('the caller is identified before the body is read, and errors have the shape of the mount', async () => {
  const { mount, callers } = createMount()
  await using service = await startService({ mountsOf: () => [mount] })
  const ask = (path: string, more: object = {}) => service.call(`/compat/test/${path}`, more)
  expect((await ask('x')).json).toEqual({ id: service.admin.id })
  const robot = await service.addServiceAccount()
  expect((await ask('x', { token: robot.token })).json).toEqual({ id: robot.id })
  expect((await ask('x', { method: 'OPTIONS', token: null })).json).toEqual({ id: null })
  expect(callers).toEqual(['token', 'service_account', 'OPTIONS'])
  for (const [path, more, status, own] of [
    ['x', { token: null, method: 'POST', raw: 'x'.repeat(100) }, 401, 'unauthenticated'],
    ['x', { method: 'POST', raw: 'x'.repeat(5_000_000) }, 413, 'body_too_large'],
    ['refuse', {}, 404, 'not_found'],
    ['fail', {}, 500, 'internal'],
  ] as const) {
    const { status: given, json } = await ask(path, more)
    expect([path, given, json]).toEqual([path, status, { own }])
  }
  expect(service.logged.filter(({ level }) => level === 'error')).toHaveLength(1)
})

test('requests count against the limit of their caller', async () => {
  const { mount } = createMount()
  await using service = await startService({
    mountsOf: () => [mount],
    config: { limits: { requests_per_minute: 2 } },
  })
  const statuses = []
  for (let at = 0; at < 3; at++) statuses.push((await service.call('/compat/test/x')).status)
  expect(statuses).toEqual([200, 200, 429])
})

test('streams are counted, get heartbeats, and end with the token of their caller', async () => {
  const { mount, streams, cancelled } = createMount()
  await using service = await startService({
    mountsOf: () => [mount],
    config: { limits: { streams_per_principal: 1 } },
    tuning: { heartbeatMs: 20, tickMs: 10, standingMs: 20 },
  })
  const robot = await service.addServiceAccount()
  const open = () =>
    fetch(`${service.url}/compat/test/stream`, { headers: { authorization: `Bearer ${robot.token}` } })
  const first = await open()
  expect([first.status, first.headers.get('x-own'), first.headers.get('connection')]).toEqual([
    200,
    'yes',
    'close',
  ])
  expect((await open()).status).toBe(429)
  streams[0]?.enqueue(encode('data: é\n\n'))
  expect(await read(first.body, /keep-alive/)).toContain('data: é\n\n')
  await service.call(`/v1/admin/service-accounts/${robot.id}`, { method: 'DELETE' })
  expect(await read(first.body, /never/)).toContain('<end>')
  expect(cancelled()).toBe(2)
})

test('a public stream that its reader delays leaves no listeners on its response', async () => {
  const { mount, streams } = createMount()
  const { identify: _, ...open } = mount
  await using service = await startService({ mountsOf: () => [open] })
  const warnings: string[] = []
  const onWarning = ({ name }: Error): void => void warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const answer = fetch(`${service.url}/compat/test/stream`).then(response => response.arrayBuffer())
  await vi.waitFor(() => expect(streams).toHaveLength(1))
  // Each piece is longer than what a response buffers.
  const piece = new Uint8Array(256 * 1024)
  for (let sent = 0; sent < 30; sent++) streams[0]?.enqueue(piece)
  streams[0]?.close()
  expect((await answer).byteLength).toBe(30 * piece.length)
  expect(warnings).toEqual([])
})

test('a stream ends in order with its body, and with the drain of the server', async () => {
  const { mount, streams } = createMount()
  await using service = await startService({ mountsOf: () => [mount] })
  const open = () =>
    fetch(`${service.url}/compat/test/stream`, { headers: { authorization: `Bearer ${service.adminToken}` } })
  const [short, long] = [await open(), await open()]
  streams[0]?.enqueue(encode('data: 1\n\n'))
  streams[0]?.close()
  expect(await read(short.body, /never/)).toContain('data: 1\n\n<end>')
  const drained = service.api.drain()
  expect(await read(long.body, /never/)).toContain(': draining\n<end>')
  await drained
})
