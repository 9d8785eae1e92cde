import { expect, test } from 'vitest'
import { isStrictSchema, jsonWithin } from './json-answer.ts'

test.each([
  ['{"a":1}', '{"a":1}'],
  ['Here you go:\n```json\n{"a": 1}\n```\nBye.', '{"a": 1}'],
  ['```\n[1]\n```', '[1]'],
  ['I think {"a": {"b": 2}} fits.', '{"a": {"b": 2}}'],
  ['no json {at all', 'no json {at all'],
])('finds the JSON within %j', (text, json) => {
  expect(jsonWithin(text)).toBe(json)
})

test('strict mode is used only for schemas that OpenAI accepts', () => {
  const closed = {
    type: 'object',
    properties: {
      a: { type: 'string' },
      b: {
        type: 'array',
        items: { type: 'object', properties: {}, required: [], additionalProperties: false },
      },
    },
    required: ['a', 'b'],
    additionalProperties: false,
  }
  expect(isStrictSchema(closed)).toBe(true)
  expect(isStrictSchema({ ...closed, required: ['a'] })).toBe(false)
  expect(isStrictSchema({ ...closed, additionalProperties: true })).toBe(false)
  expect(
    isStrictSchema({
      ...closed,
      properties: { ...closed.properties, b: { type: 'array', items: { type: 'object' } } },
    }),
  ).toBe(false)
})
