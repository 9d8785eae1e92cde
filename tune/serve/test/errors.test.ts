/** Bad requests: a status, an error object that says what was wrong, and a server that goes on. */
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
  ['a token beyond the vocabulary', 'completions', { prompt: [1, 320] }, 400, /Token id 320 is out of vocabulary/],
  ['an unknown model', 'completions', { prompt: 'x', model: 'nobody' }, 404, /The model `nobody` does not exist/],
  ['a prompt that is too long', 'completions', { prompt: 'x'.repeat(256) }, 400, /maximum context length is 256 tokens. However, you requested 257 tokens/],
  ['an answer that is too long', 'completions', { prompt: 'x', max_tokens: 256 }, 400, /\(1 in the messages, and 256 in the completion\)/],
  ['a temperature below zero', 'completions', { prompt: 'x', temperature: -0.1 }, 400, /temperature/],
  ['a top_p of zero', 'completions', { prompt: 'x', top_p: 0 }, 400, /top_p/],
  ['too many log-probabilities', 'completions', { prompt: 'x', logprobs: 21 }, 400, /21, which is greater than max allowed: 20/],
  ['a suffix', 'completions', { prompt: 'x', suffix: 'y' }, 400, /suffix is not currently supported/],
  ['a bias for a token that is not there', 'completions', { prompt: 'x', logit_bias: { 999: 1 } }, 400, /token 999/],
  ['no messages', 'chat/completions', { messages: [] }, 400, /messages/],
  ['an image', 'chat/completions', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }, 400, /"image_url" is not supported/],
  ['a tool that is not listed', 'chat/completions', { messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'function', function: { name: 'a' } }], tool_choice: { type: 'function', function: { name: 'b' } } }, 400, /"b"/],
  ['a route that is not there', 'embeddings', {}, 404, /no POST \/v1\/embeddings/],
  ['a method that the route does not take', 'models', {}, 405, /takes GET, not POST/],
]

test.each(cases)('%s', async (_, path, body, status, message) => {
  for (const stream of [false, true]) {
    const sent = typeof body === 'string' ? body : { ...(body as object), stream }
    const reply = await server.post(`/v1/${path}`, sent)
    expect(reply.status).toBe(status)
    expect(reply.body).toEqual({ error: { message: expect.stringMatching(message), type: expect.any(String), param: expect.toSatisfy((param: unknown) => param === null || typeof param === 'string'), code: status } })
  }
  expect((await server.post('/v1/completions', { prompt: 'x', max_tokens: 1 })).status).toBe(200)
})

test('health and metrics answer', async () => {
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(/^# TYPE cairn_tune_requests_running gauge$/m)
})
