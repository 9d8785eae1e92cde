/** Requests to Anthropic's Messages API, and how its answers are read. */
import { expect, test } from 'vitest'
import { createAnthropic, type AnthropicOptions } from '../src/anthropic.ts'
import type { ModelMessage, ModelRequest } from '../src/provider.ts'
import { ask, outcome, replying, wire } from './wire-server.ts'

const BASE = 'http://model.test'
const text = (name: string) => new TextDecoder().decode(wire(name))
const CACHED = { cache_control: { type: 'ephemeral' } }
const tool = { name: 't', description: 'd', parameters: { type: 'object', properties: {} } }

async function sentFor(request: ModelRequest, options: Partial<AnthropicOptions> = {}) {
  const server = replying(200, text('anthropic-text'))
  await outcome(createAnthropic({ name: 'a', baseUrl: BASE, fetch: server.fetch, ...options }), request)
  const [sent] = server.sent
  if (!sent) throw new Error('nothing was sent')
  return sent
}
const call = (id: string, args = '{}') => ({
  id,
  type: 'function' as const,
  function: { name: 't', arguments: args },
})

test('sends system and tools in their own fields and marks the stable prefix for the cache', async () => {
  const sent = await sentFor(
    ask('', {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
      ],
      tools: [{ ...tool, name: 's' }, tool],
      temperature: 0.3,
      max_tokens: 77,
    }),
    { apiKey: 'sk-ant' },
  )
  expect(sent.url).toBe(`${BASE}/v1/messages`)
  expect(sent.headers.get('authorization')).toBe('Bearer sk-ant')
  expect(sent.body).toEqual({
    model: 'gpt-x',
    max_tokens: 77,
    stream: true,
    temperature: 0.3,
    system: [{ type: 'text', text: 'Be kind.', ...CACHED }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', ...CACHED }] }],
    tools: [
      { name: 's', description: 'd', input_schema: tool.parameters },
      { name: 't', description: 'd', input_schema: tool.parameters, ...CACHED },
    ],
  })
})

test('sends no key when none is set, and max_tokens of the catalogue or else a default', async () => {
  const sent = await sentFor(ask('hi'))
  expect([sent.headers.has('x-api-key'), sent.headers.has('authorization'), sent.body['max_tokens']]).toEqual(
    [false, false, 8192],
  )
  expect(
    (await sentFor(ask('hi'), { modelFacts: () => ({ maxOutputTokens: 500 }) })).body['max_tokens'],
  ).toBe(500)
})

test('merges results and user texts into one message, results first, with failures marked', async () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'a' },
    { role: 'user', content: 'b', images: [{ data: 'AAAA', mime_type: 'image/png' }] },
    { role: 'assistant', content: 'On it.', tool_calls: [call('c:1', '{"p":1}'), call('c2', 'not json')] },
    { role: 'tool', tool_call_id: 'c:1', content: 'fine' },
    { role: 'tool', tool_call_id: 'c2', content: '{"error":"Tool execution failed: x"}' },
    { role: 'user', content: 'and hurry' },
  ]
  expect((await sentFor(ask('', { messages, tools: [tool] }))).body['messages']).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        { type: 'text', text: 'b' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'On it.' },
        { type: 'tool_use', id: 'c_1', name: 't', input: { p: 1 } },
        { type: 'tool_use', id: 'c2', name: 't', input: { malformed_arguments: 'not json' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c_1', content: 'fine' },
        {
          type: 'tool_result',
          tool_use_id: 'c2',
          content: '{"error":"Tool execution failed: x"}',
          is_error: true,
        },
        { type: 'text', text: 'and hurry', ...CACHED },
      ],
    },
  ])
})

test('inserts a user message before a leading assistant message and omits empty texts', async () => {
  const messages: ModelMessage[] = [
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: ' ' },
    { role: 'assistant', content: '' },
    { role: 'user', content: 'x' },
  ]
  expect((await sentFor(ask('', { messages }))).body['messages']).toEqual([
    { role: 'user', content: [{ type: 'text', text: '(Continue.)' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'hello' }] },
    { role: 'user', content: [{ type: 'text', text: 'x', ...CACHED }] },
  ])
})

test('when no tool may be called, declares the tools of the conversation and forbids their use', async () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: '', tool_calls: [call('c1')] },
    { role: 'tool', tool_call_id: 'c1', content: '' },
  ]
  const { body } = await sentFor(ask('', { messages }))
  expect(body).toMatchObject({
    tools: [{ name: 't', input_schema: { type: 'object' } }],
    tool_choice: { type: 'none' },
  })
  expect((await sentFor(ask('hi'))).body).not.toHaveProperty('tool_choice')
})

test('returns thinking blocks unchanged, in their position among text and calls', async () => {
  for (const name of ['anthropic-thinking-tools', 'anthropic-interleaved']) {
    const provider = createAnthropic({ name: 'a', baseUrl: BASE, fetch: replying(200, text(name)).fetch })
    const answer = await provider.call(ask('go'), () => undefined, new AbortController().signal)
    const results = (answer.message.tool_calls ?? []).map((made): ModelMessage => ({
      role: 'tool',
      tool_call_id: made.id,
      content: 'r',
    }))
    const sent = await sentFor(
      ask('', { messages: [{ role: 'user', content: 'go' }, answer.message, ...results], tools: [tool] }),
    )
    const [, assistant] = sent.body['messages'] as { content: Record<string, unknown>[] }[]
    expect(assistant?.content, name).toEqual(
      name === 'anthropic-interleaved'
        ? [
            { type: 'thinking', thinking: 'A', signature: 's1' },
            { type: 'text', text: 'one ' },
            { type: 'thinking', thinking: 'B', signature: 's2' },
            { type: 'tool_use', id: 'toolu_9', name: 'list_files', input: {} },
          ]
        : [
            { type: 'thinking', thinking: 'Two files to read…', signature: 'EqQBCkYIARgCKkBsig==' },
            { type: 'redacted_thinking', data: 'b3BhcXVl' },
            { type: 'text', text: 'Reading both.' },
            { type: 'tool_use', id: 'toolu_01A', name: 'read_file', input: { path: 'ä.md' } },
            { type: 'tool_use', id: 'toolu_01B', name: 'list_files', input: {} },
          ],
    )
  }
})

test('sends a JSON schema as a tool that the model must call, and answers with its arguments', async () => {
  const events = [
    { type: 'message_start', message: { model: 'c', usage: { input_tokens: 1, output_tokens: 1 } } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'x', name: 'verdict', input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"ok":true}' },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  const server = replying(
    200,
    events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  )
  const provider = createAnthropic({
    name: 'a',
    baseUrl: BASE,
    fetch: server.fetch,
    modelFacts: () => ({ reasoning: true }),
  })
  const answer = await provider.call(
    ask('judge', { json_schema: { name: 'verdict', schema: { type: 'object' } } }),
    () => undefined,
    new AbortController().signal,
  )
  expect(answer).toMatchObject({
    message: { role: 'assistant', content: '{"ok":true}' },
    finish_reason: 'stop',
  })
  expect(answer.message).not.toHaveProperty('tool_calls')
  expect(server.sent[0]?.body).toMatchObject({
    tools: [{ name: 'verdict', input_schema: { type: 'object' } }],
    tool_choice: { type: 'tool', name: 'verdict' },
  })
  expect(server.sent[0]?.body).not.toHaveProperty('thinking')
})

test('requests adaptive thinking, and a fixed budget after a model rejected it', async () => {
  let server = replying(400, {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'adaptive thinking is not supported on this model' },
  })
  const refusing = server
  const provider = createAnthropic({
    name: 'a',
    baseUrl: BASE,
    fetch: (url, init) => server.fetch(url, init),
    modelFacts: () => ({ reasoning: true }),
  })
  expect(await outcome(provider, ask('hi', { temperature: 0.5 }))).toMatchObject({
    category: 'provider_error',
    retryable: true,
  })
  expect(refusing.sent[0]?.body).toMatchObject({ thinking: { type: 'adaptive' } })
  expect(refusing.sent[0]?.body).not.toHaveProperty('temperature')
  server = replying(200, text('anthropic-text'))
  expect(await outcome(provider, ask('hi'))).toHaveProperty('answer')
  expect(server.sent[0]?.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 4096 } })
})

test.each([
  [401, 'authentication_error', 'auth_failed', false],
  [404, 'not_found_error', 'configuration', false],
  [429, 'rate_limit_error', 'rate_limit', true],
  [529, 'overloaded_error', 'provider_error', true],
  [413, 'request_too_large', 'context_overflow', false],
  [400, 'invalid_request_error', 'provider_error', false],
])('maps %i %s to %s', async (status, type, category, retryable) => {
  const provider = createAnthropic({
    name: 'a',
    baseUrl: BASE,
    apiKey: 'sk-ant',
    fetch: replying(status, { type: 'error', error: { type, message: 'said the server to sk-ant' } }).fetch,
  })
  const got = await outcome(provider, ask('hi'))
  expect(got).toMatchObject({
    category,
    retryable,
    message: expect.stringContaining(`${status}: said the server to ***`) as string,
  })
})

test.each([
  ['an end without message_stop', text('anthropic-text').replace(/event: message_stop[\s\S]*/, '')],
  ['an event that is no JSON', 'event: message_start\ndata: {"type"\n\n'],
  [
    'an event of another shape',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":"x"}\n\n',
  ],
  [
    'a delta of a block that never began',
    'event: content_block_delta\ndata: ' +
      '{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}\n\n',
  ],
])('%s is an invalid answer that can be retried', async (_, body) => {
  expect(
    await outcome(createAnthropic({ name: 'a', baseUrl: BASE, fetch: replying(200, body).fetch }), ask('hi')),
  ).toMatchObject({ category: 'invalid_response', retryable: true })
})

test('ignores unknown kinds of events', async () => {
  const body = text('anthropic-text').replace(
    'event: message_delta',
    'event: new_thing\ndata: {"type":"new_thing","x":[1]}\n\nevent: message_delta',
  )
  expect(
    await outcome(createAnthropic({ name: 'a', baseUrl: BASE, fetch: replying(200, body).fetch }), ask('hi')),
  ).toHaveProperty('answer')
})
