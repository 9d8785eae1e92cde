/** A caller sees the same from our fetch as from undici's: each case runs with both. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { Agent, fetch as undiciFetch } from 'undici'
import { createPlainFetch, type Fetch } from '../src/plain-fetch.ts'
import { serve } from './local-server.ts'

const dispatcher = new Agent()
afterAll(() => dispatcher.destroy())

const undici = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>
const both = test.each<[string, Fetch]>([
  ['ours', createPlainFetch(dispatcher)],
  ['undici', (input, init) => undici(input, { ...init, dispatcher })],
])
const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

both('sends the body and returns status, headers and chunks (%s)', async (_, fetch) => {
  const { url } = await serve((request, response) => {
    response.writeHead(429, { 'x-said': ['a', 'b'], 'retry-after': '3' })
    request.on('data', (sent: Buffer) => response.end(`${request.method} ${request.url} ${sent.toString()}`))
  })
  const response = await fetch(`${url}/v1/x?y=1`, post)
  expect([response.status, response.ok]).toEqual([429, false])
  expect([response.headers.get('x-said'), response.headers.get('retry-after')]).toEqual(['a, b', '3'])
  expect(await response.text()).toBe('POST /v1/x?y=1 {"a":1}')
})

both('follows a redirect with the method that its status requires (%s)', async (_, fetch) => {
  const seen: string[] = []
  const { url } = await serve((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    if (request.url === '/there') return void response.end('here')
    response.writeHead(request.url === '/moved' ? 301 : 307, { location: '/there' }).end()
  })
  expect(await (await fetch(`${url}/kept`, post)).text()).toBe('here')
  expect(seen.at(-1)).toBe('POST /there')
  expect(await (await fetch(`${url}/moved`, post)).text()).toBe('here')
  expect(seen.at(-1)).toBe('GET /there')
  const manual = await fetch(`${url}/kept`, { ...post, redirect: 'manual' })
  expect([manual.status, manual.headers.get('location')]).toEqual([307, '/there'])
})

both('decompresses a compressed body (%s)', async (_, fetch) => {
  const { url } = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('data: x\n\n')),
  )
  expect(await (await fetch(url, post)).text()).toBe('data: x\n\n')
})

both('a response without a body has a null body (%s)', async (_, fetch) => {
  const { url } = await serve((_request, response) => response.writeHead(204).end())
  const response = await fetch(url, post)
  expect([response.status, response.body]).toEqual([204, null])
})

both('a refused and a broken connection reject with their cause (%s)', async (_, fetch) => {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as { port: number }
  gone.close()
  const refused = await caught(fetch(`http://127.0.0.1:${port}`, post))
  expect(refused).toMatchObject({
    name: 'TypeError',
    message: 'fetch failed',
    cause: { code: 'ECONNREFUSED' },
  })
  const { url } = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('beginning')
    setImmediate(() => response.destroy())
  })
  const broken = await caught(fetch(url, post).then(response => response.text()))
  expect(broken).toMatchObject({ name: 'TypeError', cause: { message: expect.any(String) as string } })
})

both('an abort rejects with its reason, before, during and after the headers (%s)', async (_, fetch) => {
  const { url } = await serve((request, response) => {
    if (request.url === '/body') response.writeHead(200).write('first')
  })
  const reason = new Error('enough')
  expect(await caught(fetch(url, { ...post, signal: AbortSignal.abort(reason) }))).toBe(reason)
  const waiting = new AbortController()
  const asked = caught(fetch(url, { ...post, signal: waiting.signal }))
  setImmediate(() => waiting.abort(reason))
  expect(await asked).toBe(reason)
  const reading = new AbortController()
  const response = await fetch(`${url}/body`, { ...post, signal: reading.signal })
  const reader = response.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('first')
  reading.abort(reason)
  expect(await caught(reader?.read() ?? Promise.resolve())).not.toBeNull()
})

both('an unread body pauses the server, and cancelling it closes the connection (%s)', async (_, fetch) => {
  let sent = 0
  const full = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const { url } = await serve((_request, response) => {
    response.on('close', () => closed.resolve())
    const more = (): void => {
      sent += 65_536
      if (response.write(Buffer.alloc(65_536))) setImmediate(more)
      else {
        full.resolve()
        response.once('drain', more)
      }
    }
    more()
  })
  const response = await fetch(url, post)
  const reader = response.body?.getReader()
  await reader?.read()
  await full.promise
  await reader?.cancel()
  await closed.promise
  expect(sent).toBeLessThan(64 * 1024 * 1024)
})
