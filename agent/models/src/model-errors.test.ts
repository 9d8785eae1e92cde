import { expect, test } from 'vitest'
import {
  fromConnection,
  fromServer,
  retryAfterMs,
  type CallSite,
  type ServerFailure,
} from './model-errors.ts'

const NOW = Date.parse('2026-11-21T10:00:00Z')
const site: CallSite = {
  provider: 'openai',
  model: 'gpt-x',
  baseUrl: 'http://model.test/v1',
  secrets: ['sk-secret-1'],
  now: () => NOW,
}
const failure = (status: number | undefined, message = 'no', ...kinds: string[]): ServerFailure => ({
  ...(status === undefined ? {} : { status }),
  message,
  kinds,
})

const MEANINGS: [what: string, failure: ServerFailure, category: string, retryable: boolean][] = [
  ['429', failure(429, 'slow down', 'rate_limit_exceeded'), 'rate_limit', true],
  [
    '429 without money',
    failure(429, 'You exceeded your current quota', 'insufficient_quota', 'insufficient_quota'),
    'rate_limit',
    false,
  ],
  [
    '429 that speaks of tokens',
    failure(429, 'Request too large: too many tokens per minute'),
    'rate_limit',
    true,
  ],
  ['401', failure(401, 'bad key', 'invalid_api_key'), 'auth_failed', false],
  ['403', failure(403, 'no access'), 'auth_failed', false],
  ['402', failure(402, 'credits'), 'rate_limit', false],
  [
    '404 of a model',
    failure(404, 'The model `gpt-y` does not exist', 'model_not_found'),
    'configuration',
    false,
  ],
  [
    '400 too long (OpenAI)',
    failure(400, "This model's maximum context length is 128000 tokens.", 'context_length_exceeded'),
    'context_overflow',
    false,
  ],
  [
    '400 too long (Anthropic)',
    failure(400, 'prompt is too long: 210000 tokens > 200000 maximum', 'invalid_request_error'),
    'context_overflow',
    false,
  ],
  [
    '400 too long (llama.cpp)',
    failure(400, 'the request exceeds the available context size', '400', 'exceed_context_size_error'),
    'context_overflow',
    false,
  ],
  ['413', failure(413, 'Request exceeds the maximum size', 'request_too_large'), 'context_overflow', false],
  [
    '400 of anything else',
    failure(400, 'Unknown parameter: foo', 'invalid_request_error'),
    'provider_error',
    false,
  ],
  ['422', failure(422, 'nope'), 'provider_error', false],
  ['408', failure(408), 'timeout', true],
  ['409', failure(409), 'provider_error', true],
  ['500', failure(500), 'provider_error', true],
  ['502', failure(502), 'provider_error', true],
  ['503', failure(503), 'provider_error', true],
  ['529 overloaded', failure(529, 'Overloaded', 'overloaded_error'), 'provider_error', true],
  [
    'overloaded within an answer',
    failure(undefined, 'Overloaded', 'overloaded_error'),
    'provider_error',
    true,
  ],
  ['rate limit within an answer', failure(undefined, 'slow', 'rate_limit_error'), 'rate_limit', true],
  ['a numeric code within an answer', failure(undefined, 'slow', '429'), 'rate_limit', true],
  [
    'a bad request within an answer',
    failure(undefined, 'no such thing', 'invalid_request_error'),
    'provider_error',
    false,
  ],
  [
    'a bad key within an answer',
    failure(undefined, 'who are you', 'authentication_error'),
    'auth_failed',
    false,
  ],
  ['anything else within an answer', failure(undefined, 'oh no'), 'provider_error', true],
]

test.each(MEANINGS)('%s becomes a category that the turn can act on', (_, given, category, retryable) => {
  const error = fromServer(given, site)
  expect([error.category, error.retryable]).toEqual([category, retryable])
  expect(error.message).toContain('[openai/gpt-x]')
  expect(error.message).toContain(given.message)
})

test('a message never shows the key, and a long server response is cut', () => {
  expect(fromServer(failure(401, 'Incorrect API key provided: sk-secret-1.'), site).message).toBe(
    '[openai/gpt-x] 401: Incorrect API key provided: ***. (check the API key)',
  )
  expect(fromServer(failure(500, 'x'.repeat(5000)), site).message.length).toBeLessThan(700)
})

test.each([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': ' 1.5 ' }, 1500],
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Sat, 21 Nov 2026 09:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, null],
  [{}, null],
])('Retry-After %j is %s ms', (headers, expected) => {
  expect(retryAfterMs(new Headers(headers as Record<string, string>), NOW)).toBe(expected)
  expect(
    fromServer({ ...failure(429), headers: new Headers(headers as Record<string, string>) }, site)
      .retryAfterMs,
  ).toBe(expected)
})

test('a broken connection names its innermost cause and is retryable, and a bad certificate is not', () => {
  const broken = new TypeError('terminated', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
  expect(fromConnection(broken, site)).toMatchObject({
    category: 'network',
    retryable: true,
    message: '[openai/gpt-x] the connection failed: other side closed (UND_ERR_SOCKET)',
  })
  const refused = new Error('Connection error.', {
    cause: new TypeError('fetch failed', {
      cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
    }),
  })
  expect(fromConnection(refused, site)).toMatchObject({
    category: 'network',
    retryable: true,
    message: '[openai/gpt-x] the connection failed: connect ECONNREFUSED 127.0.0.1:1 (ECONNREFUSED)',
  })
  const forged = new TypeError('fetch failed', {
    cause: Object.assign(new Error('self-signed'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
  })
  expect(fromConnection(forged, site)).toMatchObject({ category: 'configuration', retryable: false })
})
