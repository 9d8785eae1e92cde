import { expect, test } from 'vitest'
import { errorIn, readErrorBody } from './error-body.ts'

const overflow = "This model's maximum context length is 131072 tokens"
const inner = JSON.stringify({
  error: { message: overflow, code: 'context_length_exceeded', param: 'messages' },
})

test.each<[what: string, body: unknown, message: string, kinds: string[]]>([
  [
    "OpenRouter's wrapper",
    {
      error: { message: 'Provider returned error', code: 400, metadata: { raw: inner, provider_name: 'X' } },
    },
    `Provider returned error: ${overflow}`,
    ['400', 'context_length_exceeded'],
  ],
  [
    'a wrapper with its reason as a text',
    { error: { message: 'Provider returned error', metadata: { raw: 'no such voice' } } },
    'Provider returned error: no such voice',
    [],
  ],
  ['a gateway that forwards the text', { error: inner }, overflow, ['context_length_exceeded']],
  [
    'a list, as Google sends it',
    [
      {
        error: {
          code: 400,
          message: 'bad',
          status: 'INVALID_ARGUMENT',
          details: [{ reason: 'API_KEY_INVALID' }],
        },
      },
    ],
    'bad',
    ['400', 'INVALID_ARGUMENT', 'API_KEY_INVALID'],
  ],
  [
    "FastAPI's list",
    { detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'not a role' }] },
    'not a role',
    [],
  ],
  ['a sentence', { error: 'no' }, 'no', []],
  ['Cloudflare', { success: false, errors: [{ code: 7003, message: 'no route' }] }, 'no route', ['7003']],
  ['a flat object', { object: 'error', message: 'too few', type: 'BadRequest' }, 'too few', ['BadRequest']],
  ['text', 'Bad Gateway', 'Bad Gateway', []],
  ['a web page', '<html><head><title>502 Bad\n Gateway</title>', 'a web page ("502 Bad Gateway")', []],
  ['something else', { ok: false }, '{"ok":false}', []],
  ['nothing', '', '', []],
])('reads %s', (_, body, message, kinds) => {
  expect(readErrorBody(body)).toMatchObject({ message, kinds })
})

test('names the field that is at fault', () => {
  expect(readErrorBody(JSON.parse(inner)).param).toBe('messages')
  expect(readErrorBody({ detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'x' }] }).param).toBe(
    'messages.0.role',
  )
})

const google = (retryDelay: unknown) => [
  { error: { code: 429, details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }] } },
]
test.each<[unknown, number | null]>([
  [google('3.5s'), 3500],
  [google({ seconds: '3', nanos: 500_000_000 }), 3500],
  [{ error: { message: 'Rate limit reached. Please try again in 3.5s.' } }, 3500],
  [{ error: { message: 'Please try again in 1m26.4s. Visit …' } }, 86_400],
  [{ error: { message: 'Please try again in 250ms.' } }, 250],
  [{ error: { message: 'Please retry after 26 seconds.' } }, 26_000],
  [{ error: { message: 'wait 2 minutes' } }, 120_000],
  [{ error: { message: 'slow down', retry_after: 4 } }, 4000],
  [{ error: { message: 'slow down' }, 'retry-after-ms': '1500' }, 1500],
  [{ error: { message: 'slow down', retry_after_ms: 90 } }, 90],
  [{ error: { message: 'the model has 3 seconds of audio' } }, null],
  [{ error: { message: 'slow down', retry_after: 'soon' } }, null],
])('finds the time to wait in %j', (body, expected) => {
  expect(readErrorBody(body).retryAfterMs).toBe(expected)
})

test('an endless or deeply nested error is read in bounded time', () => {
  let deep: unknown = { message: 'inside' }
  for (let level = 0; level < 5000; level++) deep = { error: deep }
  expect(readErrorBody(deep).message.length).toBeLessThanOrEqual(16_000)
  const many = { errors: Array.from({ length: 10_000 }, (_, at) => ({ message: `m${at}` })) }
  expect(readErrorBody(many).message.split(': ').length).toBeLessThanOrEqual(20)
  expect(readErrorBody('try again in '.repeat(2000)).retryAfterMs).toBe(null)
})

const choices = [{ delta: { content: 'a' } }]
test.each([
  { error: {}, choices },
  { error: null, choices },
  { error: '', choices },
  { error: { message: '', code: null }, choices },
  { error: { code: 0, message: 'success' }, choices },
  { message: 'fine', choices },
  { type: 'ping' },
  { usage: {} },
])('does not take %j as an error', answer => {
  expect(errorIn(answer)).toBeUndefined()
})

test.each([
  { error: 'no' },
  { error: { message: 'no' }, choices },
  { error: { code: 502 }, choices: [] },
  { object: 'error', code: 400 },
  { type: 'error', error: null },
  { detail: 'Not Found' },
  { code: 1211, msg: 'no such model' },
])('takes %j as an error', answer => {
  expect(errorIn(answer)).toBe(answer)
})
