import { expect, test } from 'vitest'
import { PROFILES } from '../servers/profiles.ts'
import { acceptableTools } from './acceptable-tools.ts'
import { readArguments, sentArguments } from './json-arguments.ts'
import { repairRequest } from './repair-request.ts'
import { findToolName } from './tool-names.ts'
import { acceptableSchema } from './tool-schemas.ts'

test.each<[string, unknown]>([
  ['', {}],
  ['null', {}],
  ['{"a": "x\ny"}', { a: 'x\ny' }],
  ['{"a": "\u0001\t\\"\n"}', { a: '\u0001\t"\n' }],
  ['{"a": 1}{"a": 1}', { a: 1 }],
  ['{"a": "}{"} {"a": "}{"}', { a: '}{' }],
  ['{}{"a": 1}', { a: 1 }],
  ['"{\\"a\\": 1}"', { a: 1 }],
])('the arguments %j have one meaning', (text, value) => {
  expect(readArguments(text)).toMatchObject({ value })
})

test.each([
  '{"a',
  '{"a": 1}{"a": 2}',
  '{"a": 1} and more',
  '[1]',
  '[null]',
  '7',
  '"text"',
  '{"a": 1}{"a": 1}{"a": 1}',
])('the arguments %j have none and are wrapped', text => {
  expect(readArguments(text)).toHaveProperty('problem')
  expect(JSON.parse(sentArguments(text))).toEqual({ malformed_arguments: text })
})

test('valid arguments are sent byte for byte', () => {
  for (const text of ['{"a": 1}', '{ "a":"\\u00e9" }']) expect(sentArguments(text)).toBe(text)
  expect(sentArguments('{"a":"\\ud800"}')).toBe('{"a":"\ufffd"}')
})

test('a name means a tool only if no other is alike', () => {
  const tools = ['read_file', 'Echo', 'echo']
  expect(findToolName('READ_FILE ', tools)).toBe('read_file')
  expect(findToolName('echo', tools)).toBe('echo')
  expect(findToolName('ECHO', tools)).toBeUndefined()
  expect(findToolName('readfile', tools)).toBeUndefined()
})

test.each<[string, object, object]>([
  ['without properties', { type: 'object' }, { type: 'object', properties: {} }],
  ['of another type', { type: 'string' }, { type: 'object', properties: {} }],
  [
    'with an array without items',
    { type: 'object', properties: { a: { type: 'array' } } },
    { type: 'object', properties: { a: { type: 'array', items: {} } } },
  ],
  [
    'with alternatives',
    {
      oneOf: [
        { properties: { a: {} }, required: ['a'] },
        { properties: { a: {}, b: {} }, required: ['a', 'b'] },
      ],
    },
    { type: 'object', properties: { a: {}, b: {} }, required: ['a'] },
  ],
  [
    'with an unknown type and a required property that it lacks',
    { type: 'object', properties: { a: { type: 'any' } }, required: ['b'] },
    { type: 'object', properties: { a: {} } },
  ],
  [
    'behind a reference',
    { $ref: '#/$defs/A', $defs: { A: { type: 'object', properties: { a: {} } } } },
    { $defs: { A: { type: 'object', properties: { a: {} } } }, type: 'object', properties: { a: {} } },
  ],
  [
    'that refers to itself',
    { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } },
    { type: 'object', properties: {} },
  ],
])('the schema of a tool %s becomes acceptable', (_, given, expected) => {
  expect(acceptableSchema(given as Record<string, unknown>, [])).toMatchObject(expected)
})

test('keywords are left out at any depth, and properties of the same name stay', () => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: {
      format: { type: 'string', format: 'uri' },
      list: { type: 'array', items: { format: 'date' } },
    },
  }
  expect(acceptableSchema(schema, ['format', 'additionalProperties'])).toEqual({
    type: 'object',
    properties: { format: { type: 'string' }, list: { type: 'array', items: {} } },
  })
})

test('tools beyond the limits of a server are named', () => {
  const tools = ['a', 'b', 'b', 'c d', 'e'].map(name => ({ name, description: 'long text', parameters: {} }))
  const found = acceptableTools(tools, { ...PROFILES.compatible, max_tools: 2, max_description: 5 })
  expect(found.tools.map(({ name, description }) => [name, description])).toEqual([
    ['a', 'long…'],
    ['b', 'long…'],
  ])
  expect(found.omitted).toEqual(['c d', 'e'])
})

test('a result without its call and a call without its result do not end a conversation', () => {
  const sent = repairRequest(
    {
      model: 'm',
      tools: [],
      messages: [
        { role: 'tool', tool_call_id: 'gone', content: 'lone' },
        {
          role: 'assistant',
          content: '',
          tool_calls: ['a', 'b'].map(id => ({
            id,
            type: 'function' as const,
            function: { name: 't', arguments: '{}' },
          })),
        },
        { role: 'user', content: 'meanwhile' },
        { role: 'tool', tool_call_id: 'b', content: 'B' },
        { role: 'assistant', content: 'done' },
      ],
    },
    PROFILES.compatible,
  )
  expect(sent.messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', '[Result of an earlier tool call]\nlone'],
    ['assistant', ''],
    ['tool', '{"error":"Tool execution failed: no result of this call was recorded"}'],
    ['tool', 'B'],
    ['user', 'meanwhile'],
    ['assistant', 'done'],
    ['user', '(Continue.)'],
  ])
})

test('results are sent in the order of their calls, each with its own, also if two calls share an id', () => {
  const calls = ['a', 'b', 'a'].map(id => ({
    id,
    type: 'function' as const,
    function: { name: 't', arguments: '{}' },
  }))
  const results = ['b', 'a', 'a'].map((id, index) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: `${id}${index}`,
  }))
  const { messages } = repairRequest(
    {
      model: 'm',
      tools: [],
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: '', tool_calls: calls },
        ...results,
      ],
    },
    PROFILES.compatible,
  )
  expect(messages.slice(2).map(({ content }) => content)).toEqual(['a1', 'b0', 'a2'])
  const ids = messages.flatMap(one =>
    one.role === 'assistant' ? (one.tool_calls ?? []).map(({ id }) => id) : [],
  )
  expect(new Set(ids).size).toBe(3)
  expect(messages.flatMap(one => (one.role === 'tool' ? [one.tool_call_id] : []))).toEqual(ids)
})
