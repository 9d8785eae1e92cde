/** Requests to an OpenAI-compatible server, and how the variants of its answers are read. */
import { expect, test } from 'vitest'
import { createOpenAI } from '../src/openai.ts'
import type { ModelMessage, ModelRequest } from '../src/provider.ts'
import { ask, outcome, piecewise, replying, type AnswerOutcome } from './wire-server.ts'

const BASE = 'http://model.test/v1'
const done =
  'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
const sse = (...chunks: unknown[]): string =>
  `${chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`
const finished = (delta: object, more: object = {}) =>
  sse({ choices: [{ index: 0, delta, finish_reason: 'stop' }], ...more })

async function sentFor(
  request: ModelRequest,
  options: { baseUrl?: string; apiKey?: string; headers?: Record<string, string> } = {},
) {
  const server = replying(200, done)
  await outcome(createOpenAI({ name: 'o', baseUrl: BASE, fetch: server.fetch, ...options }), request)
  const [sent] = server.sent
  if (!sent) throw new Error('nothing was sent')
  return sent
}

async function answerTo(body: string, request = ask('hi')) {
  const got = await outcome(
    createOpenAI({ name: 'o', baseUrl: BASE, fetch: replying(200, body).fetch }),
    request,
  )
  if (!('answer' in got)) throw new Error(`expected an answer, got ${got.message}`)
  return got.answer as {
    message: { content: string; tool_calls?: { id: string; function: { name: string; arguments: string } }[] }
    usage: object
    finish_reason: string
    reasoning: string
  }
}

test('the request streams with usage and has tools, temperature and limit in the fields of the API', async () => {
  const sent = await sentFor(
    ask('hi', {
      tools: [{ name: 't', description: 'd', parameters: { type: 'object' } }],
      temperature: 0.2,
      max_tokens: 50,
    }),
    { apiKey: 'sk-1', headers: { 'x-team': 'a' } },
  )
  expect(sent.url).toBe(`${BASE}/chat/completions`)
  expect(sent.headers.get('authorization')).toBe('Bearer sk-1')
  expect(sent.headers.get('x-team')).toBe('a')
  expect(sent.body).toEqual({
    model: 'gpt-x',
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.2,
    max_tokens: 50,
    messages: [{ role: 'user', content: 'hi' }],
    tools: [
      {
        type: 'function',
        function: { name: 't', description: 'd', parameters: { type: 'object', properties: {} } },
      },
    ],
  })
})

test('sends no Authorization header without a key, whatever the process environment contains', async () => {
  expect((await sentFor(ask('hi'))).headers.has('authorization')).toBe(false)
})

test("sends max_completion_tokens to OpenAI's own servers", async () => {
  expect(
    (await sentFor(ask('hi', { max_tokens: 9 }), { baseUrl: 'https://api.openai.com/v1' })).body,
  ).toMatchObject({ max_completion_tokens: 9 })
})

test('keeps the order of messages, joins leading system texts, and sends images as data URLs', async () => {
  const messages: ModelMessage[] = [
    { role: 'system', content: 'one' },
    { role: 'system', content: 'two' },
    { role: 'user', content: 'look', images: [{ data: 'AAAA', mime_type: 'image/png' }] },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 't', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
  ]
  expect((await sentFor(ask('', { messages }))).body['messages']).toEqual([
    { role: 'system', content: 'one\n\ntwo' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 't', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
  ])
})

const thinking = (model: string): ModelMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ id: `c-${model}`, type: 'function', function: { name: 't', arguments: '{}' } }],
  reasoning_details: [
    {
      format: 'openai-compatible',
      model,
      reasoning_content: 'hm',
      reasoning_details: [{ type: 'reasoning.text', text: 'hm' }],
    },
  ],
})
const result = (id: string): ModelMessage => ({ role: 'tool', tool_call_id: id, content: 'r' })

test('returns reasoning under its own name to the same model, only between tool calls of the running turn', async () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'a' },
    thinking('gpt-x'),
    result('c-gpt-x'),
    { role: 'user', content: 'b' },
    thinking('gpt-x'),
    result('c-gpt-x'),
    thinking('other'),
    result('c-other'),
  ]
  const sent = (await sentFor(ask('', { messages }))).body['messages'] as Record<string, unknown>[]
  const returned = sent
    .filter(message => message['role'] === 'assistant')
    .map(message => Object.keys(message).filter(key => key.startsWith('reasoning')))
  expect(returned).toEqual([['reasoning_details'], ['reasoning_details', 'reasoning_content'], []])
})

test.each(['reasoning_content', 'reasoning'])(
  'keeps %s for the next call with tool calls, but not with an answer',
  async name => {
    const calling = await answerTo(finished({ [name]: 'hm', tool_calls: [fragment(0, 'i', 'a', '{}')] }))
    expect(calling).toMatchObject({
      reasoning: 'hm',
      message: { reasoning_details: [{ format: 'openai-compatible', model: 'gpt-x', [name]: 'hm' }] },
    })
    const answering = await answerTo(finished({ [name]: 'hm', content: 'yes' }))
    expect([answering.reasoning, answering.message]).toEqual(['hm', { role: 'assistant', content: 'yes' }])
  },
)

test("does not send Anthropic's thinking blocks to an OpenAI server", async () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'a' },
    {
      role: 'assistant',
      content: 'b',
      reasoning_details: [{ type: 'thinking', thinking: 't', signature: 's' }],
    },
    { role: 'user', content: 'c' },
  ]
  expect(JSON.stringify((await sentFor(ask('', { messages }))).body)).not.toContain('thinking')
})

const schema = {
  name: 'verdict',
  schema: {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  },
}

test('sends a JSON schema as response_format, strict where the schema allows it', async () => {
  expect((await sentFor(ask('hi', { json_schema: schema }))).body['response_format']).toEqual({
    type: 'json_schema',
    json_schema: { ...schema, strict: true },
  })
})

test.each([
  [400, 'This response_format type is unavailable now', 'response_format'],
  [500, "Input should be 'text' or 'json_object' (response_format)", 'response_format'],
  [400, 'Unrecognized request argument supplied: stream_options', 'stream_options'],
])('omits the field in later calls to a server that answers %i %j', async (status, message, field) => {
  const refusing = replying(status, { error: { message } })
  const accepting = replying(200, finished({ content: 'Sure: {"ok":true}' }))
  let server = refusing
  const provider = createOpenAI({ name: 'o', baseUrl: BASE, fetch: (url, init) => server.fetch(url, init) })
  expect(await outcome(provider, ask('hi', { json_schema: schema }))).toEqual({
    category: 'provider_error',
    retryable: true,
    message: `[o/gpt-x] ${status}: ${message}; learned: omitted_fields is ["${field}"]`,
  })
  expect(refusing.sent[0]?.body).toHaveProperty(field)

  server = accepting
  const got = await outcome(provider, ask('hi', { json_schema: schema }))
  expect(accepting.sent[0]?.body).not.toHaveProperty(field)
  expect(got).toMatchObject({ answer: { message: { content: '{"ok":true}' } } })
  if (field === 'response_format')
    expect(JSON.stringify(accepting.sent[0]?.body['messages'])).toContain('matches this JSON Schema')
})

test('reads a whole body from a server that does not stream', async () => {
  const body = {
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'whole', tool_calls: null }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  }
  const provider = createOpenAI({ name: 'o', baseUrl: BASE, fetch: replying(200, body).fetch })
  const shown: string[] = []
  expect(
    await outcome(provider, ask('hi'), chunk => {
      if (chunk.type === 'text') shown.push(chunk.text)
    }),
  ).toMatchObject({ answer: { message: { content: 'whole' }, usage: { input_tokens: 1, output_tokens: 2 } } })
  expect(shown).toEqual(['whole'])
})

test.each<[string, string, Partial<Exclude<AnswerOutcome, { answer: unknown }>>]>([
  [
    'an error in place of a body',
    JSON.stringify({ error: { message: 'overloaded', code: 503 } }),
    { category: 'provider_error', retryable: true },
  ],
  ['a web page', '<html></html>', { category: 'configuration', retryable: false }],
  [
    'a chunk that is no JSON',
    'data: {"choices": [{"delta\n\n',
    { category: 'invalid_response', retryable: true },
  ],
  [
    'a chunk of another shape',
    'data: {"choices": "none"}\n\n',
    { category: 'invalid_response', retryable: true },
  ],
  [
    'an end without finish_reason',
    'data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n',
    { category: 'invalid_response', retryable: true },
  ],
  ['only the end marker', 'data: [DONE]\n\n', { category: 'invalid_response', retryable: true }],
  ['nothing at all', '', { category: 'invalid_response', retryable: true }],
  [
    'a tool call without a name',
    'data: ' +
      '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\n',
    { category: 'invalid_response', retryable: true },
  ],
])('%s is a failure of a known kind', async (what, body, expected) => {
  const type = body.startsWith('{')
    ? 'application/json'
    : body.startsWith('<')
      ? 'text/html'
      : 'text/event-stream'
  const provider = createOpenAI({
    name: 'o',
    baseUrl: BASE,
    fetch: piecewise(() => [new TextEncoder().encode(body)], type),
  })
  expect(await outcome(provider, ask(what))).toMatchObject(expected)
})

const fragment = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args: string,
) => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), arguments: args },
})
const callsOf = async (...fragments: unknown[]) =>
  (
    await answerTo(
      sse(...fragments.map(one => ({ choices: [{ index: 0, delta: { tool_calls: [one] } }] })), {
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      }),
    )
  ).message.tool_calls?.map(call => [call.function.name, call.function.arguments])

test('distinguishes tool calls by index, id or name, whichever the server sends', async () => {
  const two = [
    ['a', '{"x":1}'],
    ['b', '{"y":2}'],
  ]
  expect(
    await callsOf(
      fragment(0, 'i', 'a', '{"x"'),
      fragment(0, undefined, undefined, ':1}'),
      fragment(1, 'j', 'b', '{"y":2}'),
    ),
  ).toEqual(two)
  // One index for all calls, each with its own id.
  expect(await callsOf(fragment(0, 'i', 'a', '{"x":1}'), fragment(0, 'j', 'b', '{"y":2}'))).toEqual(two)
  // No index; the id, then the name, is repeated on each fragment.
  expect(
    await callsOf(
      fragment(undefined, 'i', 'a', '{"x"'),
      fragment(undefined, 'j', 'b', '{"y":2}'),
      fragment(undefined, 'i', 'a', ':1}'),
    ),
  ).toEqual(two)
  expect(
    await callsOf(
      fragment(0, 'i', 'a', '{"x"'),
      fragment(0, 'i', 'a', ':1}'),
      fragment(1, '', 'b', '{"y":2}'),
    ),
  ).toEqual(two)
  expect(await callsOf(fragment(0, 'i', 'a', ''))).toEqual([['a', '{}']])
})

test('answers with calls have the reason tool_calls, whatever the server sends', async () => {
  expect((await answerTo(finished({ tool_calls: [fragment(0, 'i', 'a', '{}')] }))).finish_reason).toBe(
    'tool_calls',
  )
})

test('generates an id for a call with none or a repeated one, always the same for the same conversation', async () => {
  const past: ModelMessage[] = [
    { role: 'user', content: 'a' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'a', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_0', content: 'r' },
  ]
  const body = finished({
    tool_calls: [
      fragment(0, 'call_0', 'a', '{}'),
      fragment(1, undefined, 'a', '{}'),
      fragment(2, 'own', 'a', '{}'),
    ],
  })
  const ids = async (messages: ModelMessage[]) =>
    (await answerTo(body, ask('', { messages }))).message.tool_calls?.map(call => call.id) ?? []
  const made = await ids(past)
  expect(new Set(['call_0', ...made]).size).toBe(4)
  expect(made[2]).toBe('own')
  expect(await ids(past)).toEqual(made)
  expect((await ids([...past, { role: 'user', content: 'b' }]))[0]).not.toBe(made[0])
})

test.each([
  [
    'details',
    {
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    },
    [10, 5, 3, 4],
  ],
  [
    'reasoning left out of completion_tokens',
    {
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 18,
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    },
    [10, 8, 3, 0],
  ],
  [
    'cache hits by another name',
    { usage: { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 6 } },
    [10, 5, 0, 6],
  ],
  [
    'usage beside the choices',
    { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } },
    [1, 2, 0, 0],
  ],
  ['none', {}, [0, 0, 0, 0]],
])('reads usage: %s', async (_, more, [input, output, reasoning, cached]) => {
  expect((await answerTo(finished({ content: 'x' }, more))).usage).toEqual({
    input_tokens: input,
    output_tokens: output,
    reasoning_tokens: reasoning,
    cache_read_tokens: cached,
  })
})

test('reads content in parts as text and thinking', async () => {
  const answer = await answerTo(
    finished({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'yes' },
      ],
    }),
  )
  expect([answer.reasoning, answer.message.content]).toEqual(['hm', 'yes'])
})
