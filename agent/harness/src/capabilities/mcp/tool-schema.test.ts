import { expect, test } from 'vitest'
import { modelSchema } from './tool-schema.ts'

const text = { type: 'string' }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

test.each([
  ['no schema', undefined, object({})],
  ['null', null, object({})],
  ['an empty list, as PHP encodes an empty object', [], object({})],
  ['no properties', { type: 'object' }, object({})],
  ['no type', { properties: { a: text } }, object({ a: text })],
  ['several types', { type: ['object', 'null'], properties: { a: text } }, object({ a: text })],
  ['a list of properties', { type: 'object', properties: [] }, object({})],
  ['a property without a schema', object({ a: true, b: null, c: false }), object({ a: {}, b: {} })],
  ['a nested object without properties', object({ a: { type: 'object' } }), object({ a: object({}) })],
  ['an array without items', object({ a: { type: 'array' } }), object({ a: { type: 'array', items: {} } })],
  [
    'a tuple',
    object({ a: { type: 'array', items: [text, { type: 'int' }] }, b: { prefixItems: [text, text] } }),
    object({
      a: { type: 'array', items: { anyOf: [text, { type: 'integer' }] } },
      b: { items: text },
    }),
  ],
  [
    'types of other languages',
    object({ a: { type: 'str' }, b: { type: 'any' }, c: 'float', d: { type: ['String', 'null'] } }),
    object({ a: text, b: {}, c: { type: 'number' }, d: { type: ['string', 'null'] } }),
  ],
  [
    'required properties that do not exist, or say so themselves',
    object({ a: { ...text, required: true }, b: text }, { required: ['b', 'gone', 7] }),
    object({ a: text, b: text }, { required: ['a', 'b'] }),
  ],
  ['an empty enum', object({ a: { ...text, enum: [] } }), object({ a: text })],
  [
    'references',
    object(
      {
        a: { $ref: '#/$defs/A', description: 'the a' },
        b: { $ref: '#/definitions/B~1b' },
        c: { $ref: '#/properties/d' },
        d: text,
      },
      {
        $defs: { A: object({ x: { $ref: '#/definitions/B~1b' } }) },
        definitions: { 'B/b': { type: 'integer' } },
      },
    ),
    object({
      a: { ...object({ x: { type: 'integer' } }), description: 'the a' },
      b: { type: 'integer' },
      c: text,
      d: text,
    }),
  ],
  ['a reference at the top', { $ref: '#/$defs/A', $defs: { A: object({ a: text }) } }, object({ a: text })],
  [
    'alternatives at the top',
    {
      oneOf: [
        object({ a: text, kind: { const: 'a' } }, { required: ['a', 'kind'], additionalProperties: false }),
        object({ b: text, kind: { const: 'b' } }, { required: ['b', 'kind'] }),
        { type: 'null' },
      ],
    },
    object({ a: text, kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, b: text }, { required: ['kind'] }),
  ],
  [
    'a conjunction at the top',
    {
      allOf: [object({ a: text }, { required: ['a'] }), { properties: { b: text }, required: ['b'] }],
      not: {},
    },
    object({ a: text, b: text }, { required: ['a', 'b'] }),
  ],
  [
    'what is plain',
    object({ a: { ...text, enum: ['x'] } }, { additionalProperties: false }),
    object({ a: { ...text, enum: ['x'] } }, { additionalProperties: false }),
  ],
])('a schema with %s becomes one that model servers accept', (_, given, expected) => {
  expect(modelSchema(given).schema).toEqual(expected)
})

test.each([
  ['of a string', { type: 'string' }, /the type "string"/],
  ['of an array', { type: ['array', 'null'] }, /the type \["array","null"\]/],
  ['that is no schema', 'none', /is a string, not an object/],
  ['that takes nothing', false, /is a boolean, not an object/],
  [
    'without an alternative that is an object',
    { anyOf: [text, { type: 'null' }] },
    /none of the alternatives/,
  ],
  ['that refers to a string', { $ref: '#/$defs/a', $defs: { a: text } }, /the type "string"/],
])('a schema %s is rejected', (_, given, reason) => {
  expect(() => modelSchema(given)).toThrow(reason)
})

test('references that are recursive, missing or remote are left open, and named', () => {
  const node = object({ children: { type: 'array', items: { $ref: '#/$defs/node' } } })
  const { schema, notes } = modelSchema(
    object(
      {
        tree: { $ref: '#/$defs/node' },
        gone: { $ref: '#/$defs/gone' },
        far: { $ref: 'https://example.org/s' },
        odd: { $ref: '#/%' },
      },
      { $defs: { node } },
    ),
  )
  expect(schema).toEqual(
    object({
      tree: object({ children: { type: 'array', items: { type: 'object' } } }),
      gone: {},
      far: {},
      odd: {},
    }),
  )
  expect(notes).toHaveLength(4)
  expect(notes).toContain('the reference "#/$defs/node" is recursive, so it is left open')
  expect(notes).toContain(
    'the reference "https://example.org/s" leads nowhere in the schema, so it is left open',
  )
})

test('references that multiply end at a maximum', () => {
  const level = (at: number): object =>
    object(Object.fromEntries('abcdefgh'.split('').map(key => [key, { $ref: `#/$defs/l${at + 1}` }])))
  const $defs = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`l${at}`, level(at)]))
  const { schema, notes } = modelSchema({ ...level(-1), $defs })
  expect(JSON.stringify(schema).length).toBeLessThan(128 * 1024)
  expect(notes).toContain('parts beyond 2000 subschemas are left open')
})

test('property names that a model server refuses are replaced, and arguments get them back', () => {
  const long = 'x'.repeat(80)
  const { schema, toServer } = modelSchema(
    object(
      { 'file path': text, [long]: { type: 'array', items: object({ 'a/b': text }) }, ok: text },
      { required: ['file path'] },
    ),
  )
  const names = Object.keys(schema['properties'] as object)
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/)
  expect(schema['required']).toEqual([names[0]])
  const [path = '', list = ''] = names
  const inner = Object.keys((schema as never)['properties'][list]['items']['properties'])[0] ?? ''
  expect(toServer({ [path]: 'p', [list]: [{ [inner]: 1 }], ok: 'file path', more: 1 })).toEqual({
    'file path': 'p',
    [long]: [{ 'a/b': 1 }],
    ok: 'file path',
    more: 1,
  })
})
