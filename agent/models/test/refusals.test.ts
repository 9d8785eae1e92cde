/** The reason, the category and the wait of a refused call, read from the bytes of the server. */
import { expect, test } from 'vitest'
import { createAnthropic } from '../src/anthropic.ts'
import { createOpenAI } from '../src/openai.ts'
import { ModelError, type ModelProvider } from '../src/provider.ts'
import type { Fetch } from '../src/plain-fetch.ts'
import { ask, piecewise } from './wire-server.ts'

const BASE = 'http://model.test/v1'
const openai = (fetch: Fetch) => createOpenAI({ name: 'o', baseUrl: BASE, fetch })
const anthropic = (fetch: Fetch) => createAnthropic({ name: 'a', baseUrl: BASE, fetch })
const refusing =
  (status: number, body: unknown, headers: Record<string, string> = {}): Fetch =>
  () =>
    Promise.resolve(new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers }))

async function failure(provider: ModelProvider): Promise<ModelError> {
  const error: unknown = await provider
    .call(ask('hi'), () => undefined, new AbortController().signal)
    .catch((thrown: unknown) => thrown)
  if (!(error instanceof ModelError)) throw new Error(`expected a ModelError, got ${String(error)}`)
  return error
}

const raw = JSON.stringify({ error: { message: "This model's maximum context length is 131072 tokens" } })

test.each<[string, number, unknown]>([
  ['in a list', 400, [{ error: { code: 400, message: 'prompt token count of 9 exceeds the limit of 8' } }]],
  ['as a string', 422, { error: 'Input validation error: `inputs` tokens must be <= 4096. Given: 5000' }],
  ['inside a wrapper', 400, { error: { message: 'Provider returned error', code: 400, metadata: { raw } } }],
  ['inside the wrapper of a gateway', 502, { error: { message: `upstream: ${raw}` } }],
  ['in the detail', 400, { detail: 'Prompt exceeds max length' }],
  ['beside the error', 400, { error: true, message: 'Range of input length should be [1, 98304]' }],
  ['as text', 413, 'Request Entity Too Large'],
])('an overflow is recognised %s', async (_, status, body) => {
  for (const connect of [openai, anthropic])
    expect(await failure(connect(refusing(status, body)))).toMatchObject({
      category: 'context_overflow',
      retryable: false,
    })
})

test('a refusal through a gateway keeps the reason of the model server', async () => {
  const error = {
    message: 'Provider returned error',
    code: 400,
    metadata: { raw: '{"error":"voice is unknown"}' },
  }
  expect((await failure(openai(refusing(400, { error })))).message).toBe(
    '[o/gpt-x] 400: Provider returned error: voice is unknown',
  )
})

test.each([
  [400, { error: { message: 'Bad Request' } }, true],
  [422, { code: '1261', msg: 'parameter error' }, true],
  [400, '', true],
  [400, { error: { message: 'Unknown parameter: foo' } }, false],
  [400, { error: { message: 'too long', param: 'tools[0].function.description' } }, false],
  [401, { error: { message: 'Bad Request' } }, false],
  [500, { error: { message: 'internal' } }, false],
])('whether the refusal %i %j leaves its cause open', async (status, body, unexplained) => {
  expect((await failure(openai(refusing(status, body)))).unexplained).toBe(unexplained)
})

const google = [
  {
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'You exceeded your current quota, please check your plan and billing details.',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3.5s' }],
    },
  },
]
test.each<[string, unknown, Record<string, string>, number]>([
  ["Google's RetryInfo", google, {}, 3500],
  ['a sentence', { error: { message: 'Rate limit reached. Please try again in 1.2s.' } }, {}, 1200],
  ['a field beside the error', { error: { message: 'slow down' }, 'retry-after-ms': 700 }, {}, 700],
  ['the header before the body', google, { 'retry-after': '9' }, 9000],
])('waits as long as %s says', async (_, body, headers, retryAfterMs) => {
  expect(await failure(openai(refusing(429, body, headers)))).toMatchObject({
    category: 'rate_limit',
    retryable: true,
    retryAfterMs,
  })
})

test('reads the wait of a rate limit that comes within the stream', async () => {
  const body = `data: ${JSON.stringify({ error: { code: 429, message: 'try again in 2s' } })}\n\n`
  expect(await failure(openai(piecewise(() => [new TextEncoder().encode(body)])))).toMatchObject({
    category: 'rate_limit',
    retryAfterMs: 2000,
  })
})

test.each([
  [400, { error: { status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } }, 'auth_failed'],
  [429, { error: { type: 'exceeded_current_quota_error', message: 'no balance' } }, 'rate_limit'],
  [400, { code: 'Arrearage', message: 'account not in good standing' }, 'rate_limit'],
])('%i %j cannot be retried (%s)', async (status, body, category) => {
  expect(await failure(openai(refusing(status, body)))).toMatchObject({ category, retryable: false })
})
