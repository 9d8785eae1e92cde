/** Bad requests: a status, an error object with the reason, and a server that keeps working. */
import { afterAll, expect, test } from 'vitest'
import { openFixture } from './server-fixture.ts'

const server = await openFixture()
afterAll(() => server.close())

const cases: [name: string, path: string, body: unknown, status: number, message: RegExp][] = [
  ['a body that is not JSON', 'completions', '{"model": ', 400, /not JSON/],
  ['a body that is no object', 'completions', '[]', 400, /expected object/],
  ['no prompt', 'completions', {}, 400, /prompt/],
  ['an empty prompt', 'completions', { prompt: '' }, 400, /no tokens/],
  ['an empty list', 'completions', { prompt: [] }, 400, /prompt/],
  [
    'a token beyond the vocabulary',
    'completions',
    { prompt: [1, 320] },
    400,
    /Token id 320 is out of vocabulary/,
  ],
  [
    'an unknown model',
    'completions',
    { prompt: 'x', model: 'nobody' },
    404,
    /The model `nobody` does not exist/,
  ],
  [
    'a prompt that is too long',
    'completions',
    { prompt: 'x'.repeat(256) },
    400,
    /maximum context length is 256 tokens. However, you requested 257 tokens/,
  ],
  [
    'an answer that is too long',
    'completions',
    { prompt: 'x', max_tokens: 256 },
    400,
    /\(1 in the messages, and 256 in the completion\)/,
  ],
  ['a temperature below zero', 'completions', { prompt: 'x', temperature: -0.1 }, 400, /temperature/],
  ['a top_p of zero', 'completions', { prompt: 'x', top_p: 0 }, 400, /top_p/],
  [
    'too many log-probabilities',
    'completions',
    { prompt: 'x', logprobs: 21 },
    400,
    /21, which is greater than max allowed: 20/,
  ],
  ['a suffix', 'completions', { prompt: 'x', suffix: 'y' }, 400, /suffix is not supported/],
  [
    'a bias for a token that is not there',
    'completions',
    { prompt: 'x', logit_bias: { 999: 1 } },
    400,
    /token 999/,
  ],
  [
    'a prompt of another kind',
    'completions',
    { prompt: 5 },
    400,
    /expected a string, token ids, or a list of either/,
  ],
  [
    'a stop of another kind',
    'completions',
    { prompt: 'x', stop: 5 },
    400,
    /expected a string or a list of strings/,
  ],
  [
    'a seed that is no whole number',
    'completions',
    { prompt: 'x', seed: 1.5 },
    400,
    /expected a whole number/,
  ],
  [
    'an answer held to a regular expression',
    'completions',
    { prompt: 'x', guided_regex: 'a+' },
    400,
    /guided_regex is not supported/,
  ],
  [
    'an answer held to a schema',
    'chat/completions',
    {
      messages: [{ role: 'user', content: 'x' }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { not: {} } } },
    },
    400,
    /response_format: keyword not is not supported/,
  ],
  [
    'a choice of tools that is none',
    'chat/completions',
    { messages: [{ role: 'user', content: 'x' }], tool_choice: 'sometimes' },
    400,
    /expected "none", "auto", "required"/,
  ],
  ['no messages', 'chat/completions', { messages: [] }, 400, /messages/],
  [
    'an image',
    'chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
    400,
    /"image_url" is not supported/,
  ],
  [
    'a tool that is not listed',
    'chat/completions',
    {
      messages: [{ role: 'user', content: 'x' }],
      tools: [{ type: 'function', function: { name: 'a' } }],
      tool_choice: { type: 'function', function: { name: 'b' } },
    },
    400,
    /"b"/,
  ],
  ['a route that is not there', 'embeddings', {}, 404, /Unknown route POST \/v1\/embeddings/],
  ['a method that the route does not take', 'models', {}, 405, /Method POST not allowed on .*Allowed: GET/],
]

test.each(cases)('%s', async (_, path, body, status, message) => {
  for (const stream of [false, true]) {
    const sent = typeof body === 'string' ? body : { ...(body as object), stream }
    const reply = await server.post(`/v1/${path}`, sent)
    expect(reply.status).toBe(status)
    expect(reply.body).toEqual({
      error: {
        message: expect.stringMatching(message),
        type: expect.any(String),
        param: expect.toSatisfy((param: unknown) => param === null || typeof param === 'string'),
        code: status,
      },
    })
  }
  expect((await server.post('/v1/completions', { prompt: 'x', max_tokens: 1 })).status).toBe(200)
})

test('rejects stream_options without stream', async () => {
  const { status, body } = await server.post('/v1/completions', {
    prompt: 'x',
    stream_options: { include_usage: true },
  })
  expect([status, body]).toMatchObject([
    400,
    { error: { param: 'stream_options', message: expect.stringContaining('`stream=True`') } },
  ])
})

test('a 64-bit seed gives reproducible tokens', async () => {
  const ask = async () =>
    (
      await server.post(
        '/v1/completions',
        '{"prompt": "x", "max_tokens": 4, "temperature": 1, "seed": 9223372036854775807, ' +
          '"return_token_ids": true}',
      )
    ).body as { choices: { token_ids: number[] }[] }
  const first = await ask()
  expect(first.choices[0]?.token_ids).toHaveLength(4)
  expect((await ask()).choices[0]?.token_ids).toEqual(first.choices[0]?.token_ids)
})

test('the health and metrics routes respond', async () => {
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(
    /^# TYPE cairn_tune_requests_running gauge$/m,
  )
})
