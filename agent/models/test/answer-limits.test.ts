/** Every part of an answer has a maximum, for both protocols. Exceeding it ends the call without a retry. */
import { expect, test } from 'vitest'
import { createAnthropic } from '../src/anthropic.ts'
import {
  MAX_CALLS,
  MAX_EVENT_BYTES,
  MAX_PART_BYTES,
  MAX_STREAM_BYTES,
  meterStream,
} from '../src/answer-limits.ts'
import { createOpenAI } from '../src/openai.ts'
import type { ModelProvider } from '../src/provider.ts'
import type { Fetch } from '../src/plain-fetch.ts'
import { ask, outcome } from './wire-server.ts'

const openai = (fetch: Fetch): ModelProvider =>
  createOpenAI({ name: 'o', baseUrl: 'http://model.test/v1', fetch })
const anthropic = (fetch: Fetch): ModelProvider =>
  createAnthropic({ name: 'a', baseUrl: 'http://model.test', fetch })

const delta = (value: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: value }] })}\n\n`
const event = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
const block = (index: number, content_block: object) =>
  event({ type: 'content_block_start', index, content_block } as { type: string })
const piece = (value: object) =>
  event({ type: 'content_block_delta', index: 0, delta: value } as { type: string })
const start = event({ type: 'message_start', message: {} } as { type: string })

/** A server whose answer never ends, and how many bytes of it were read. */
function endless(
  head: string,
  next: (at: number) => string,
  status = 200,
): { fetch: Fetch; read: () => number } {
  const encoder = new TextEncoder()
  let read = 0
  let at = -1
  const fetch: Fetch = () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const bytes = encoder.encode(at < 0 ? head : next(at))
        at += 1
        read += bytes.length
        controller.enqueue(bytes)
      },
    })
    return Promise.resolve(new Response(body, { status, headers: { 'content-type': 'text/event-stream' } }))
  }
  return { fetch, read: () => read }
}

const LONG = 'x'.repeat(16 * 1024)
const call = (id: string, args: string) => ({ id, index: 0, function: { name: 'look', arguments: args } })

/** Promise 7.11: A model call accepts a bounded amount of data and ends, whatever the model server sends. */
test.each<[string, (fetch: Fetch) => ModelProvider, string, (at: number) => string, RegExp]>([
  ['text, OpenAI', openai, ': \n\n', () => delta({ content: LONG }), /more than 2 MiB of text/],
  [
    'reasoning, OpenAI',
    openai,
    ': \n\n',
    () => delta({ reasoning_content: LONG }),
    /more than 2 MiB of reasoning/,
  ],
  [
    'reasoning details, OpenAI',
    openai,
    ': \n\n',
    () => delta({ content: '', reasoning_details: [{ type: 'reasoning.encrypted', data: LONG }] }),
    /more than 2 MiB of reasoning details/,
  ],
  [
    'arguments, OpenAI',
    openai,
    ': \n\n',
    () => delta({ tool_calls: [call('a', LONG)] }),
    /2 MiB of tool calls/,
  ],
  [
    'calls, OpenAI',
    openai,
    ': \n\n',
    at => delta({ tool_calls: [{ ...call(`c${at}`, '{}'), index: at }] }),
    /more than 256 tool calls/,
  ],
  ['a line, OpenAI', openai, 'data: {"choices":"', () => LONG, /an event of the answer is longer than 8 MiB/],
  [
    'lines without a blank one, OpenAI',
    openai,
    '',
    () => `data: ${LONG}\n`,
    /an event of the answer is longer than 8 MiB/,
  ],
  [
    'text, Anthropic',
    anthropic,
    start + block(0, { type: 'text', text: '' }),
    () => piece({ type: 'text_delta', text: LONG }),
    /more than 2 MiB of text/,
  ],
  [
    'reasoning, Anthropic',
    anthropic,
    start + block(0, { type: 'thinking', thinking: '' }),
    () => piece({ type: 'thinking_delta', thinking: LONG }),
    /more than 2 MiB of reasoning/,
  ],
  [
    'signatures, Anthropic',
    anthropic,
    start + block(0, { type: 'thinking', thinking: '' }),
    () => piece({ type: 'signature_delta', signature: LONG }),
    /more than 2 MiB of reasoning details/,
  ],
  [
    'arguments, Anthropic',
    anthropic,
    start + block(0, { type: 'tool_use', id: 'a', name: 'look', input: {} }),
    () => piece({ type: 'input_json_delta', partial_json: LONG }),
    /2 MiB of tool calls/,
  ],
  [
    'calls, Anthropic',
    anthropic,
    start,
    at => block(at, { type: 'tool_use', id: `c${at}`, name: 'look', input: {} }),
    /more than 256 tool calls/,
  ],
  ['blocks, Anthropic', anthropic, start, at => block(at, { type: 'new_kind' }), /more than 4096 blocks/],
  [
    'a line, Anthropic',
    anthropic,
    'event: message_start\ndata: {"',
    () => LONG,
    /an event of the answer is longer than 8 MiB/,
  ],
])(
  '%s without end: the call ends soon after the maximum and is not retried',
  async (_, connect, head, next, said) => {
    const server = endless(head, next)
    const got = await outcome(connect(server.fetch), ask('go'))
    expect(got).toMatchObject({
      category: 'invalid_response',
      retryable: false,
      message: expect.stringMatching(said),
    })
    expect(server.read()).toBeLessThan(2 * MAX_EVENT_BYTES)
  },
)

test('accepts an answer of exactly the maximum size', async () => {
  const body = 'é'.repeat(MAX_PART_BYTES / 2)
  for (const [connect, stream] of [
    [
      openai,
      `${delta({ content: body })}data: ` +
        `${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    ],
    [anthropic, `${start}${block(0, { type: 'text', text: body })}${event({ type: 'message_stop' })}`],
  ] as const) {
    const fetch: Fetch = () =>
      Promise.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }))
    const got = await outcome(connect(fetch), ask('go'))
    expect(got).toMatchObject({ answer: { message: { content: body } } })
  }
  expect(MAX_CALLS).toBeGreaterThan(128)
})

test.each([
  ['OpenAI', openai],
  ['Anthropic', anthropic],
])(
  'reads only the start of an endless error response and classifies it by its status (%s)',
  async (_, connect) => {
    const server = endless('{"error":{"message":"', () => LONG, 503)
    expect(await outcome(connect(server.fetch), ask('go'))).toMatchObject({
      category: 'provider_error',
      retryable: true,
    })
    expect(server.read()).toBeLessThan(1024 * 1024)
  },
)

test('ends a stream of only empty events at its maximum, with any line ending', () => {
  const site = { provider: 'o', model: 'm', baseUrl: 'http://m', secrets: [], now: () => 0 }
  for (const ending of ['\n\n', '\r\n\r\n', '\r\r']) {
    const bytes = new TextEncoder().encode(`data: {}${ending}`.repeat(100_000))
    const { count } = meterStream(site)
    let taken = 0
    const flood = () => {
      for (;;) {
        // Cut anywhere, even between CR and LF.
        count(bytes.subarray(0, 9))
        count(bytes.subarray(9))
        taken += bytes.length
      }
    }
    expect(flood).toThrow(/the stream of the answer is longer than 256 MiB/)
    expect(taken).toBeLessThanOrEqual(MAX_STREAM_BYTES)
    expect(taken).toBeGreaterThan(MAX_STREAM_BYTES - 2 * bytes.length)
  }
})

test.each<[said: string, left: number]>([
  ['data: a', 7],
  ['data: a\n', 8],
  ['data: a\n\n', 0],
  ['data: a\r\n\n', 0],
  ['data: a\n\r\n', 1],
  ['data: a\r\n\r\n', 1],
  ['data: a\r\r', 0],
  ['data: a\n\ndata: b\n', 8],
  ['data: a\n\n\n', 0],
])(
  'after %j, in one piece or many, an event may have the remaining bytes up to its maximum',
  (said, left) => {
    const site = { provider: 'p', model: 'm', baseUrl: 'http://m', secrets: [], now: Date.now }
    const bytes = new TextEncoder().encode(said)
    for (const pieces of [
      [bytes],
      [...bytes].map(byte => Uint8Array.of(byte)),
      [bytes.subarray(0, -1), bytes.subarray(-1)],
    ]) {
      const { count } = meterStream(site)
      for (const piece of pieces) count(piece)
      count(new Uint8Array(MAX_EVENT_BYTES - left).fill(120))
      expect(() => count(Uint8Array.of(120))).toThrow(/an event of the answer is longer than 8 MiB/)
    }
  },
)

test('invalid token counts and long finish reasons leave the answer fit for the log', async () => {
  for (const wrong of [-5, 1.5, 1e308]) {
    const stream = `data: ${JSON.stringify({
      choices: [{ delta: { content: 'hi' }, finish_reason: 'r'.repeat(9000) }],
      usage: { prompt_tokens: wrong, completion_tokens: wrong },
    })}\n\ndata: [DONE]\n\n`
    const fetch: Fetch = () =>
      Promise.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }))
    const got = await outcome(openai(fetch), ask('go'))
    if (!('answer' in got)) throw new Error(got.message)
    const { usage, finish_reason } = got.answer as { usage: Record<string, number>; finish_reason: string }
    for (const count of Object.values(usage)) expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
    expect(finish_reason.length).toBeLessThanOrEqual(64)
  }
})
