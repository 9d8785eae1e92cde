/** Answers as servers really send them, each after a public report: what matters is read, the rest is not. */
import { expect, test } from 'vitest'
import { createAnthropic } from '../src/anthropic.ts'
import { createOpenAI } from '../src/openai.ts'
import type { ModelAnswer, ModelRequest } from '../src/provider.ts'
import { ask, outcome, piecewise } from './wire-server.ts'

const BASE = 'http://model.test/v1'
const TOOLS = ['list_files', 'read_file', 'list'].map(name => ({ name, description: '', parameters: {} }))
const bytes = (text: string) => new TextEncoder().encode(text)

const openai = (body: string, type = 'text/event-stream') =>
  createOpenAI({ name: 'o', baseUrl: BASE, fetch: piecewise(() => [bytes(body)], type) })
const anthropic = (body: string, type = 'text/event-stream') =>
  createAnthropic({ name: 'a', baseUrl: BASE, fetch: piecewise(() => [bytes(body)], type) })

async function answerOf(provider: ReturnType<typeof openai>, more: Partial<ModelRequest> = {}) {
  const got = await outcome(provider, ask('hi', { tools: TOOLS, ...more }))
  if (!('answer' in got)) throw new Error(got.message)
  return got.answer as ModelAnswer
}

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
})
const sse = (...chunks: unknown[]) =>
  `${chunks.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`
const hello = [chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: 'lo' }), chunk({}, 'stop')]
const whole = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
}
const message = {
  type: 'message',
  model: 'claude-x',
  content: [
    { type: 'text', text: 'Hello' },
    { type: 'tool_use', id: 't1', name: 'list', input: { path: '.' } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: '7', output_tokens: 3 },
}

// ---- what a body is

test.each([
  ['events as application/json', 'application/json', sse(...hello)],
  ['events as text/plain', 'text/plain', sse(...hello)],
  ['events as text/html', 'text/html', sse(...hello)],
  ['events without a type', '', sse(...hello)],
  ['events behind blanks and a mark', 'application/json', `\uFEFF \r\n\n${sse(...hello)}`],
  ['events behind a comment', 'application/json', `: OPENROUTER PROCESSING\n\n${sse(...hello)}`],
  ['events that begin with an id', 'application/json', `id: 1\n${sse(...hello)}`],
  ['a whole answer as text/plain', 'text/plain', JSON.stringify(whole)],
  ['a whole answer as an event stream', 'text/event-stream', JSON.stringify(whole)],
  ['a whole answer behind line feeds', 'application/json', `\n\n\n  ${JSON.stringify(whole)}\n`],
  ['a list of one answer', 'application/json', JSON.stringify([whole])],
  ['lines of JSON', 'application/x-ndjson', hello.map(each => `${JSON.stringify(each)}\n`).join('')],
  ['one line feed between events', 'text/event-stream', sse(...hello).replaceAll('\n\n', '\n')],
  ['CRLF between events', 'text/event-stream', sse(...hello).replaceAll('\n\n', '\r\n')],
  [
    'names and one line feed',
    'text/event-stream',
    hello.map(each => `event: chunk\ndata: ${JSON.stringify(each)}\n`).join(''),
  ],
  [
    'an event over several lines',
    'text/plain',
    `data: {"choices":\ndata: ${JSON.stringify(whole.choices)}}\n\n`,
  ],
  ['empty events between', 'text/event-stream', sse(...hello).replaceAll('\n\n', '\n\ndata:\n\n')],
])('reads %s', async (_, type, body) => {
  expect((await answerOf(openai(body, type))).message.content).toBe('Hello')
})

test('events with one line feed between them are shown as they arrive', async () => {
  const shown: string[] = []
  const lines = sse(...hello)
    .replaceAll('\n\n', '\n')
    .split(/(?<=\n)/)
  const seen: number[] = []
  const fetch = piecewise(() => lines.map(line => bytes(line)))
  await createOpenAI({ name: 'o', baseUrl: BASE, fetch }).call(
    ask('hi'),
    piece => {
      if (piece.type === 'text') shown.push(piece.text)
      else seen.push(shown.length)
    },
    new AbortController().signal,
  )
  // The first text is shown when the second line comes, not at the end.
  expect([shown, seen]).toEqual([
    ['Hel', 'lo'],
    [0, 0, 1, 2],
  ])
})

test.each([
  ['as JSON', 'application/json', JSON.stringify(message)],
  ['as text', 'text/plain', `\n${JSON.stringify(message)}`],
  ['as an event stream', 'text/event-stream', JSON.stringify(message)],
])("reads a whole message of Anthropic's protocol %s", async (_, type, body) => {
  expect(await answerOf(anthropic(body, type))).toMatchObject({
    message: {
      content: 'Hello',
      tool_calls: [{ id: 't1', function: { name: 'list', arguments: '{"path":"."}' } }],
    },
    finish_reason: 'tool_calls',
    usage: { input_tokens: 7, output_tokens: 3 },
  })
})

test.each([
  ['without names', 'data: '],
  ['with one line feed between them', 'event: x\ndata: '],
])("reads events of Anthropic's protocol %s", async (_, prefix) => {
  const events = [
    { type: 'message_start', message: {} },
    { type: 'content_block_start', index: '0', content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 'three' } },
  ]
  const ending = prefix === 'data: ' ? '\n\n' : '\n'
  const body = events.map(each => `${prefix}${JSON.stringify(each)}${ending}`).join('')
  expect((await answerOf(anthropic(`${body}data: [DONE]\n\n`))).message.content).toBe('Hello')
})

// ---- fragments of calls

type Piece = { index?: unknown; id?: unknown; name?: string | null; args?: unknown }
const callsIn = async (pieces: readonly Piece[]) =>
  (
    await answerOf(
      openai(
        sse(
          ...pieces.map(({ index, id, name, args }) =>
            chunk({ tool_calls: [{ index, id, function: { name, arguments: args } }] }),
          ),
          chunk({}, 'tool_calls'),
        ),
      ),
    )
  ).message.tool_calls?.map(({ function: { name, arguments: args } }) => [name, args])

const LIST = [['list_files', '{"path":"."}']]
test.each<[string, Piece[], string[][]]>([
  [
    'the id changes with each fragment',
    [
      { index: 0, id: 't-a', name: 'list_files', args: '' },
      { index: 0, id: 't-b0', args: '{"pa' },
      { index: 0, id: 't-b1', args: 'th":"' },
      { index: 0, id: 't-b2', args: '."}' },
    ],
    LIST,
  ],
  [
    'the id changes and the name is repeated',
    [
      { index: 0, id: 't-a', name: 'list_files', args: '' },
      { index: 0, id: 't-b', name: 'list_files', args: '{"pa' },
      { index: 0, id: 't-c', name: 'list_files', args: 'th":"."}' },
    ],
    LIST,
  ],
  [
    'the id changes in the midst of nested arguments',
    [
      { index: 0, id: 'a', name: 'read_file', args: '{"o":' },
      { index: 0, id: 'b', name: 'read_file', args: '{"k":1}}' },
    ],
    [['read_file', '{"o":{"k":1}}']],
  ],
  [
    'the id changes without an index',
    [
      { id: 'a', name: 'list_files', args: '{"pa' },
      { id: 'b', args: 'th":' },
      { id: 'c', args: '"."}' },
    ],
    LIST,
  ],
  [
    'the index grows with each fragment',
    [
      { index: 0, name: 'list_files', args: '{"pa' },
      { index: 1, args: 'th":' },
      { index: 2, args: '"."}' },
    ],
    LIST,
  ],
  [
    'the name comes in pieces',
    [
      { index: 0, id: 'a', name: 'list_' },
      { index: 0, name: 'files', args: '' },
      { index: 0, args: '{"path":"."}' },
    ],
    LIST,
  ],
  [
    'the name comes in pieces and begins with the name of another tool',
    [
      { index: 0, id: 'a', name: 'list' },
      { index: 0, name: '_files' },
      { index: 0, args: '{"path":"."}' },
    ],
    LIST,
  ],
  [
    'the name comes in pieces without index or id',
    [{ name: 'list_' }, { name: 'files' }, { args: '{"path":"."}' }],
    LIST,
  ],
  [
    'the name comes as the whole so far',
    [
      { index: 0, id: 'a', name: 'unkn' },
      { index: 0, id: 'a', name: 'unknown', args: '{}' },
    ],
    [['unknown', '{}']],
  ],
  [
    'the name follows the id',
    [
      { index: 0, id: 'a', name: 'list', args: '{}' },
      { index: 1, id: 'b' },
      { index: 1, name: 'list_files', args: '{"path":"."}' },
    ],
    [['list', '{}'], ...LIST],
  ],
  [
    'the index is text',
    [
      { index: '0', id: 'a', name: 'list_files', args: '{"path"' },
      { index: '0', args: ':"."}' },
    ],
    LIST,
  ],
  ['the index is not a number', [{ index: {}, id: 'a', name: 'list_files', args: '{"path":"."}' }], LIST],
  ['the id is a number', [{ index: 0, id: 7, name: 'list_files', args: { path: '.' } }], LIST],
  [
    'two calls share one index, and have no id',
    [
      { index: 0, name: 'list', args: '{"x":1}' },
      { index: 0, name: 'list_files', args: '{"path":"."}' },
    ],
    [['list', '{"x":1}'], ...LIST],
  ],
  [
    'two calls of one tool share one index, and have no id',
    [
      { index: 0, name: 'list', args: '{"x":1}' },
      { index: 0, name: 'list', args: '{"x":2}' },
    ],
    [
      ['list', '{"x":1}'],
      ['list', '{"x":2}'],
    ],
  ],
  [
    'two calls without arguments share one index',
    [
      { index: 0, id: 'a', name: 'list', args: '' },
      { index: 0, id: 'b', name: 'list', args: '' },
    ],
    [
      ['list', '{}'],
      ['list', '{}'],
    ],
  ],
  [
    'a call is cut and another one is whole',
    [
      { index: 0, id: 'a', name: 'list', args: '{"x":"' },
      { index: 0, id: 'b', name: 'list', args: '{"x":2}' },
    ],
    [
      ['list', '{"x":"'],
      ['list', '{"x":2}'],
    ],
  ],
  [
    'two calls come interleaved, with changing ids',
    [
      { index: 0, id: 'a', name: 'list', args: '' },
      { index: 1, id: 'b', name: 'list_files', args: '' },
      { index: 0, id: 'c', args: '{"x":1}' },
      { index: 1, id: 'd', args: '{"path":"."}' },
    ],
    [['list', '{"x":1}'], ...LIST],
  ],
])('joins the fragments of calls when %s', async (_, pieces, expected) => {
  expect(await callsIn(pieces)).toEqual(expected)
})

test('reads a call that is not in a list', async () => {
  const call = { index: 0, id: '', function: { name: 'list', arguments: { x: 1 } } }
  const { message } = await answerOf(openai(sse(chunk({ tool_calls: call }), chunk({}, 'stop'))))
  expect(message.tool_calls?.map(each => each.function)).toEqual([{ name: 'list', arguments: '{"x":1}' }])
})

test('more fragments with changing ids than an answer may have calls are still one call', async () => {
  const letters = Array.from({ length: 400 }, (_, at) => ({ index: 0, id: `i${at}`, args: 'x' }))
  expect(
    await callsIn([
      { index: 0, id: 'a', name: 'list', args: '{"x":"' },
      ...letters,
      { index: 0, id: 'z', args: '"}' },
    ]),
  ).toEqual([['list', `{"x":"${'x'.repeat(400)}"}`]])
})

// ---- what does not matter

test.each<[string, string]>([
  [
    'an index that grows',
    sse(...hello.map((each, at) => ({ choices: [{ ...each.choices[0], index: 197 + at }] }))),
  ],
  ['an index as text', sse(...hello.map(each => ({ choices: [{ ...each.choices[0], index: '0' }] })))],
  ['no finish reason before the end marker', sse(...hello.slice(0, 2))],
  ['an empty finish reason before the end marker', sse(...hello.slice(0, 2), chunk({}, ''))],
  ['an empty error beside the choice', sse(...hello.map(each => ({ ...each, error: {} })))],
  [
    'an error that says success',
    sse(...hello.map(each => ({ ...each, error: { code: 0, message: 'success' } }))),
  ],
  ['usage of another type', sse(...hello, { choices: [], usage: 'none' })],
  ['a model name that is not text', sse(...hello.map(each => ({ ...each, model: { id: 1 } })))],
  ['null between the chunks', sse(hello[0], null, hello[1], hello[2])],
  [
    'the whole message after its deltas',
    sse(...hello, { choices: [{ index: 0, message: { content: 'Hello' } }] }),
  ],
])('%s does not cost the answer', async (_, body) => {
  expect(await answerOf(openai(body))).toMatchObject({ message: { content: 'Hello' }, finish_reason: 'stop' })
})

test('reads numbers as text in usage', async () => {
  const usage = {
    prompt_tokens: '12',
    completion_tokens: '3.0',
    total_tokens: '15',
    prompt_tokens_details: [],
  }
  expect((await answerOf(openai(sse(...hello, { choices: [], usage })))).usage).toMatchObject({
    input_tokens: 12,
    output_tokens: 3,
  })
})

test.each([
  ['the end of the connection', sse(...hello.slice(0, 2)).replace('data: [DONE]\n\n', '')],
  [
    'an end marker in the midst of arguments',
    sse(chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'list', arguments: '{"x":' } }] })),
  ],
])('%s does not end an answer without a finish reason', async (_, body) => {
  expect(await outcome(openai(body), ask('hi'))).toMatchObject({
    category: 'invalid_response',
    retryable: true,
    message: expect.stringContaining('no finish_reason') as string,
  })
})

test('a call is whole at the end marker if its arguments are', async () => {
  const call = { index: 0, id: 'a', function: { name: 'list', arguments: '{}' } }
  expect((await answerOf(openai(sse(chunk({ tool_calls: [call] }))))).finish_reason).toBe('tool_calls')
})

test.each(['insufficient_system_resource', 'network_error', 'abort', 'error'])(
  'the finish reason %s is a failure of the server that can be retried',
  async reason => {
    expect(await outcome(openai(sse(chunk({ content: 'Hel' }), chunk({}, reason))), ask('hi'))).toMatchObject(
      {
        category: 'provider_error',
        retryable: true,
        message: expect.stringContaining(reason) as string,
      },
    )
  },
)

test.each([
  ['end_turn', 'stop'],
  ['eos_token', 'stop'],
  ['STOP', 'stop'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['sensitive', 'content_filter'],
  ['something_new', 'something_new'],
])('reads the finish reason %s of an answer with text as %s', async (said, read) => {
  expect((await answerOf(openai(sse(chunk({ content: 'Hello' }), chunk({}, said))))).finish_reason).toBe(read)
})

// ---- a full window

test.each<[string, ReturnType<typeof openai>]>([
  [
    'model_context_window_exceeded',
    openai(sse(chunk({ content: '' }), chunk({}, 'model_context_window_exceeded'))),
  ],
  ['context_length_exceeded', openai(sse(chunk({ content: ' ' }), chunk({}, 'context_length_exceeded')))],
  ['length', openai(sse(chunk({ content: '' }), chunk({}, 'length', { usage: { completion_tokens: 0 } })))],
  ['length', openai(JSON.stringify({ choices: [{ message: { content: null }, finish_reason: 'length' }] }))],
  [
    'model_context_window_exceeded',
    anthropic(JSON.stringify({ ...message, content: [], stop_reason: 'model_context_window_exceeded' })),
  ],
])('the finish reason %s without an answer is an overflow', async (reason, provider) => {
  expect(await outcome(provider, ask('hi'))).toMatchObject({
    category: 'context_overflow',
    retryable: false,
    message: expect.stringContaining(reason) as string,
  })
})

test.each([
  ['with reasoning', chunk({ reasoning_content: 'hm' }, 'length')],
  ['with hidden reasoning', chunk({ content: '' }, 'length', { usage: { completion_tokens: 500 } })],
  ['with text', chunk({ content: 'so far' }, 'length')],
])('an answer that max_tokens cut %s is not an overflow', async (_, end) => {
  expect((await answerOf(openai(sse(end)))).finish_reason).toBe('length')
})
