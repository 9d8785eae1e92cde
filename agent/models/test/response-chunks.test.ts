/** Answers over a real connection: read to the end, cut, aborted, and the next call after them. */
import type { RequestListener } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { Agent } from 'undici'
import { createPlainFetch, PlainResponse } from '../src/plain-fetch.ts'
import { readChunks } from '../src/response-chunks.ts'
import { serve } from './local-server.ts'

const dispatcher = new Agent()
const fetch = createPlainFetch(dispatcher)
afterAll(() => dispatcher.destroy())

async function askServer(listener: RequestListener) {
  const { url, made } = await serve(listener)
  return { made, ask: (signal?: AbortSignal) => fetch(url, signal === undefined ? {} : { signal }) }
}
function ours(response: Response): PlainResponse {
  if (!(response instanceof PlainResponse)) throw new Error('it came by another fetch')
  return response
}
const text = (piece: Uint8Array): string => Buffer.from(piece).toString()

test('delivers chunks in order without a promise for each, and reports an end that was not cut', async () => {
  const { ask } = await askServer((_, response) => {
    response.write('one ')
    setImmediate(() => response.end('two'))
  })
  const response = ours(await ask())
  let whole = ''
  expect(await readChunks(response, piece => ((whole += text(piece)), false))).toBe(false)
  expect(whole).toBe('one two')
})

test('a reader that stops early returns at once, and the connection serves the next call', async () => {
  const { ask, made } = await askServer((_, response) => {
    response.write('data: [DONE]\n\n')
    // A packet of its own, as from a distant server.
    setTimeout(() => response.end(), 20)
  })
  for (let calls = 3; calls > 0; calls--) {
    const response = ours(await ask())
    const ended = new Promise(resolve => response.pieces.on('close', resolve))
    expect(await readChunks(response, piece => text(piece).includes('[DONE]'))).toBe(true)
    await ended
    // The pool gets the connection back a moment later.
    await new Promise(setImmediate)
  }
  expect(made()).toBe(1)
})

test('closes an answer that does not end after its last chunk', async () => {
  const closed = Promise.withResolvers<void>()
  const { ask } = await askServer((request, response) => {
    request.socket.on('close', () => closed.resolve())
    response.write('data: [DONE]\n\n')
    setImmediate(() => response.write('more'))
  })
  let calls = 0
  const last = await readChunks(await ask(), () => ++calls > 0)
  expect(last).toBe(true)
  await closed.promise
  expect(calls, 'nobody is told of what comes behind it').toBe(1)
})

test('an error of the reader closes the connection and is rethrown', async () => {
  const closed = Promise.withResolvers<void>()
  const { ask } = await askServer((request, response) => {
    request.socket.on('close', () => closed.resolve())
    response.write('too much')
  })
  const thrown = new Error('enough')
  const reading = readChunks(await ask(), () => {
    throw thrown
  })
  await expect(reading).rejects.toBe(thrown)
  await closed.promise
})

test('a broken connection rejects with its cause, even before a read', async () => {
  const { ask } = await askServer((_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('beginning')
    setImmediate(() => response.destroy())
  })
  const broken = {
    name: 'TypeError',
    message: 'terminated',
    cause: { message: expect.any(String) as string },
  }
  await expect(readChunks(await ask(), () => false)).rejects.toMatchObject(broken)
  await expect((await ask()).text()).rejects.toMatchObject(broken)
  const late = ours(await ask())
  await new Promise(resolve => late.pieces.resume().on('close', resolve))
  await expect(readChunks(late, () => false)).rejects.toMatchObject(broken)
  await expect(late.text()).rejects.toMatchObject(broken)
})

test('an abort ends a read in progress', async () => {
  const { ask } = await askServer((_, response) => void response.write('first'))
  const stop = new AbortController()
  const reading = readChunks(await ask(stop.signal), () => (stop.abort(new Error('enough')), false))
  await expect(reading).rejects.toMatchObject({ message: 'terminated', cause: { message: 'enough' } })
})

test('reads a response of another fetch through its stream, and cancels it at the last chunk', async () => {
  let cancelled = false
  const stream = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(Buffer.from('x')),
    cancel: () => void (cancelled = true),
  })
  let pieces = 0
  expect(await readChunks(new Response(stream), () => ++pieces === 3)).toBe(true)
  expect([pieces, cancelled]).toEqual([3, true])
  expect(await readChunks(new Response(null), () => false)).toBe(false)
})
