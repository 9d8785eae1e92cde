/** Conversations with everything that models, people and old logs put into them. */
import fc from 'fast-check'
import type { ModelMessage, ModelRequest, ToolSchema } from '../src/provider.ts'

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n', 'a\ud800b', '\u0000', '/help', '你好') },
)
const callId = fc.oneof(
  fc.constantFrom(
    'c1',
    'c2',
    'call_abcdefghijklmnop',
    'functions.read_file:0',
    '',
    ' ',
    'a b',
    'ü',
    'x'.repeat(80),
    '__proto__',
  ),
  fc.string({ minLength: 1, maxLength: 50 }),
)
const toolName = fc.oneof(
  fc.constantFrom(
    'read_file',
    ' read_file',
    'Read_File',
    '"read_file"',
    'functions.read_file',
    '9lives',
    '',
    ' ',
    'x.y/z',
    'n'.repeat(90),
    'mcp__a__b',
    '__proto__',
  ),
  fc.string({ maxLength: 12 }),
)
const argumentsText = fc.oneof(
  fc.constantFrom(
    '{}',
    '',
    ' ',
    '{"a": 1}',
    '{"a": "x\ny\t"}',
    '{"a":1}{"a":1}',
    '{}{"a":1}',
    '{"command": "cd /x && git',
    'null',
    '[]',
    '"{}"',
    '7',
    '{"a":"\\ud800"}',
    '{"a":1}{"b":2}',
    '{"a',
  ),
  fc.json({ maxDepth: 3 }),
)
const image = fc.record({
  data: fc.constantFrom('iVBORw0KGgo=', 'AAAA', 'BBBB', 'CCCC'),
  mime_type: fc.constantFrom('image/png' as const, 'image/jpeg' as const),
})

const details = fc.oneof(
  fc.constant(undefined),
  fc.record({
    format: fc.constant('openai-compatible'),
    model: fc.constantFrom('m', 'other'),
    reasoning_content: fc.constantFrom('thought', 'why', undefined),
    reasoning_details: fc.constantFrom(undefined, [{ type: 'reasoning.text', text: 't' }]),
    call_fields: fc.constantFrom(undefined, {
      c1: { extra_content: { google: { thought_signature: 'SIG==' } } },
    }),
  }),
  fc.constant({ type: 'thinking', thinking: 't', signature: 's' }),
)

const message: fc.Arbitrary<ModelMessage> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ role: fc.constant('user' as const), content: text }) },
  {
    weight: 1,
    arbitrary: fc.record({
      role: fc.constant('user' as const),
      content: text,
      images: fc.array(image, { maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ role: fc.constant('system' as const), content: text }) },
  {
    weight: 4,
    arbitrary: fc
      .record({
        content: text,
        calls: fc.array(fc.tuple(callId, toolName, argumentsText), { maxLength: 3 }),
        details,
      })
      .map(({ content, calls, details: kept }) => ({
        role: 'assistant' as const,
        content,
        ...(calls.length > 0
          ? {
              tool_calls: calls.map(([id, name, args]) => ({
                id,
                type: 'function' as const,
                function: { name, arguments: args },
              })),
            }
          : {}),
        ...(kept ? { reasoning_details: [kept] } : {}),
      })),
  },
  {
    weight: 3,
    arbitrary: fc.record({ role: fc.constant('tool' as const), tool_call_id: callId, content: text }),
  },
)

/** After an answer with calls most logs have its results, some of them late, twice or not at all. */
const answered = (messages: readonly ModelMessage[]): ModelMessage[] =>
  messages.flatMap((one, index): ModelMessage[] =>
    one.role === 'assistant' && one.tool_calls && index % 3 !== 0
      ? [
          one,
          ...one.tool_calls
            .toReversed()
            .map(call => ({ role: 'tool' as const, tool_call_id: call.id, content: `result ${index}` })),
        ]
      : [one],
  )

const schema = fc.constantFrom<Record<string, unknown>>(
  { type: 'object' },
  {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path', 'gone'],
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: { list: { type: 'array' } },
    $schema: 'https://json-schema.org/draft/2020-12/schema',
  },
  { type: 'string' },
  {},
  {
    anyOf: [
      { type: 'object', properties: { a: { type: 'string' } } },
      { properties: { b: { type: 'number' } } },
    ],
  },
  { $ref: '#/$defs/In', $defs: { In: { type: 'object', properties: { deep: { $ref: '#/$defs/In' } } } } },
  { type: ['object', 'null'], properties: { any: { type: 'any' } }, required: true },
)
const tool: fc.Arbitrary<ToolSchema> = fc.record({
  name: fc.constantFrom('read_file', 'terminal', 'mcp__a__b', 'list_files', 'todo', 'bad name'),
  description: fc.constantFrom('', 'Reads a file.', 'd'.repeat(3000)),
  parameters: schema,
})
const manyTools = Array.from({ length: 140 }, (_, index) => ({
  name: `mcp__many__${index}`,
  description: 'one of many',
  parameters: { type: 'object' },
}))

export const oddRequest: fc.Arbitrary<ModelRequest> = fc
  .record({
    messages: fc.array(message, { maxLength: 14 }).map(answered),
    tools: fc.oneof(
      { weight: 9, arbitrary: fc.array(tool, { maxLength: 8 }) },
      { weight: 1, arbitrary: fc.constant(manyTools) },
    ),
    temperature: fc.constantFrom(undefined, 0.5),
    max_tokens: fc.constantFrom(undefined, 4000),
  })
  .map(({ messages, tools, temperature, max_tokens }) => ({
    model: 'm',
    messages,
    tools,
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { max_tokens }),
  }))
