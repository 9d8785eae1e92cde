/** Grammars against what they stand for: numbers, regular expressions, characters, strings. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseEbnf } from './ebnf.ts'
import { characters, complement, GrammarError, type Expression } from './expression.ts'
import { createForms } from './forms.ts'
import { stringNot } from './json-text.ts'
import { acceptsText, createMachine } from './machine.ts'
import { integer, number } from './numbers.ts'
import { regexExpression } from './regex.ts'
import type { Schema } from './schema-merge.ts'
import { schemaGrammar } from './schema.ts'
import type { FormSource } from './sources.ts'
import { createTokenTrie } from './token-trie.ts'

const machineOf = (root: Expression) => createMachine({ root: 'root', rules: new Map([['root', root]]) })
const accepts = (root: Expression, texts: readonly string[]) => {
  const machine = machineOf(root)
  return texts.filter(text => acceptsText(machine, text))
}

test('whole numbers within bounds are those, and no others', () => {
  const texts = Array.from({ length: 2601 }, (_, i) => String(i - 1300))
  const bound = fc.integer({ min: -1250, max: 1250 })
  fc.assert(
    fc.property(bound, bound, fc.boolean(), fc.boolean(), (a, b, isOpenBelow, isOpenAbove) => {
      const [minimum, maximum] = [Math.min(a, b), Math.max(a, b) + 2]
      const kept = accepts(integer({ minimum, maximum, isOpenBelow, isOpenAbove }), texts)
      const [from, to] = [minimum + Number(isOpenBelow), maximum - Number(isOpenAbove)]
      expect(kept).toEqual(texts.filter(text => from <= Number(text) && Number(text) <= to))
    }),
    { numRuns: 40 },
  )
})

test('a number that is written lies within its bounds', () => {
  const texts = Array.from({ length: 4001 }, (_, i) => String((i - 2000) / 100))
  const bound = fc.integer({ min: -150, max: 150 }).map(tenths => tenths / 10)
  fc.assert(
    fc.property(bound, bound, fc.boolean(), (a, b, isOpen) => {
      const [minimum, maximum] = [Math.min(a, b), Math.max(a, b) + 2]
      const kept = accepts(number({ minimum, maximum, isOpenBelow: isOpen, isOpenAbove: isOpen }), texts).map(
        Number,
      )
      expect(kept.length).toBeGreaterThan(0)
      expect(kept.filter(x => (isOpen ? x <= minimum || x >= maximum : x < minimum || x > maximum))).toEqual(
        [],
      )
    }),
    { numRuns: 40 },
  )
})

test.each([
  'a{2,3}b*',
  '(x|yy)+z?',
  '[^a-y\\d]\\w',
  '\\s\\S',
  'é[ă-ț]?.',
  '\\p{Lu}+',
  '(?:a|b){0,2}$',
  '^\\u{1F600}|q',
])('the regular expression %s matches what it does elsewhere', source => {
  const letters = ['a', 'b', 'x', 'y', 'z', 'é', 'ă', 'Ț', '7', '_', ' ', '\n', '😀', 'q', 'A']
  const texts = [
    '',
    ...letters,
    ...letters.flatMap(a => letters.flatMap(b => [a + b, ...letters.map(c => a + b + c)])),
  ]
  const whole = new RegExp(`^(?:${source})$`, 'u')
  const found = new RegExp(source, 'u')
  expect(accepts(regexExpression(source, characters), texts)).toEqual(texts.filter(text => whole.test(text)))
  expect(accepts(regexExpression(source, characters, true), texts)).toEqual(
    texts.filter(text => found.test(text)),
  )
})

test('characters of a range are those of its code points, in UTF-8', () => {
  const edges = [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x1_0000, 0x10_fffe, 0x10_ffff]
  const points = edges.flatMap(edge => [edge - 1, edge, edge + 1]).filter(p => p >= 0 && p <= 0x10ffff)
  const valid = points.filter(point => point < 0xd800 || point > 0xdfff)
  for (const from of valid)
    for (const to of valid.filter(point => point >= from)) {
      const kept = (root: Expression) => {
        const machine = machineOf(root)
        return valid.filter(point => acceptsText(machine, String.fromCodePoint(point)))
      }
      expect(kept(characters([[from, to]]))).toEqual(valid.filter(point => from <= point && point <= to))
      const left = valid.filter(point => point < from || to < point)
      if (left.length > 0) expect(kept(characters(complement([[from, to]])))).toEqual(left)
    }
})

test('a name that is taken is not written again', () => {
  const texts = ['""', '"a"', '"ab"', '"abc"', '"b"', '"\\n"', '"\\""']
  expect(accepts(stringNot(['a', 'abc', '\n']), texts)).toEqual(['""', '"ab"', '"b"', '"\\""'])
})

test('a mask has the tokens whose bytes may come next, and no others', () => {
  const words = ['a', 'b', 'ab', 'aab', 'ba', 'aa', '', 'c', 'ab']
  const trie = createTokenTrie(words.map(word => new TextEncoder().encode(word)))
  const machine = createMachine(parseEbnf('root ::= "a"+ "b" # one\n'))
  const tokensOf = (mask: Int32Array) => words.flatMap((_, i) => (((mask[0] ?? 0) >> i) & 1 ? [i] : []))
  expect(tokensOf(trie.allowed(machine, machine.start))).toEqual([0, 2, 3, 5, 8])
  const end = [...'ab'].reduce(
    (state, letter) => machine.step(state, letter.charCodeAt(0)) ?? state,
    machine.start,
  )
  expect([end.accepts, tokensOf(trie.allowed(machine, end))]).toEqual([true, []])
})

test('a text with many readings is followed, up to a limit', () => {
  const nested = createMachine(parseEbnf('root ::= "x" root "y" | "x" root "z" | "w"'))
  expect(acceptsText(nested, `${'x'.repeat(9)}w${'yz'.repeat(4)}y`)).toBe(true)
  expect(acceptsText(nested, `${'x'.repeat(60)}w${'y'.repeat(60)}`)).toBe(false)
  expect(
    acceptsText(createMachine(parseEbnf('root ::= ("a" | "aa" | ())* "b"')), `${'a'.repeat(500)}b`),
  ).toBe(true)
  expect(acceptsText(createMachine(parseEbnf('root ::= [a-z]{0,100000}')), 'q'.repeat(5000))).toBe(true)
})

/** Forms over a vocabulary of single bytes; the last token ends an answer. */
const forms = () => createForms(token => (token < 256 ? Uint8Array.of(token) : undefined), 257, [256])
const formOf = (source: object) => forms().of({ startsInThought: false, ...source } as FormSource)
const chain = (levels: number, step: (below: object) => object) => {
  const defs = Object.fromEntries(
    Array.from({ length: levels }, (_, i) => [`a${i + 1}`, step({ $ref: `#/$defs/a${i}` })]),
  )
  return (bottom: unknown) => ({ $defs: { a0: bottom, ...defs }, $ref: `#/$defs/a${levels}` })
}
const within = (levels: number, wrap: (inner: object) => object) =>
  Array.from({ length: levels }).reduce<object>(inner => wrap(inner), { type: 'null' })
const bothOf = (below: object) => ({ allOf: [below, below] })
const either = (below: object) => ({ anyOf: [below, below] })
const tagged = (inner: object, tag: string) => ({
  type: 'object',
  properties: { next: inner, kind: { const: tag } },
  required: ['next', 'kind'],
})

test.each<[string, object]>([
  ['anyOf that doubles at every level', { schema: chain(30, either)(true) }],
  ['a part in itself 1,500 times', { schema: within(1500, items => ({ type: 'array', items })) }],
  ['a chain of 1,500 references', { schema: chain(1500, items => ({ items, type: 'array' }))(true) }],
  ['1,500 items one after another', { schema: { prefixItems: Array.from({ length: 1500 }, () => true) } }],
  ['a long name', { schema: { properties: { ['n'.repeat(5000)]: true }, additionalProperties: true } }],
  ['a long text', { kind: 'choice', texts: ['x'.repeat(200_000)] }],
  [
    'many kinds of characters',
    {
      kind: 'regex',
      pattern: Array.from({ length: 300 }, (_, i) => `[\\p{L}${String.fromCodePoint(0x2190 + i)}]`).join(''),
    },
  ],
  ['many classes of characters', { kind: 'regex', pattern: `[${'\\p{L}'.repeat(5000)}]` }],
  ['groups in each other', { kind: 'regex', pattern: `${'('.repeat(2000)}a${')'.repeat(2000)}` }],
  [
    'rules in the order that takes longest',
    {
      kind: 'grammar',
      text: [
        ...Array.from({ length: 4000 }, (_, i) => `r${i} ::= r${i + 1}`),
        'r4000 ::= "a"',
        'root ::= r0',
      ].join('\n'),
    },
  ],
])('%s is refused before it takes long', (_, source) => {
  const start = performance.now()
  expect(() => formOf('schema' in source ? { kind: 'schema', ...source } : source)).toThrow(GrammarError)
  expect(performance.now() - start).toBeLessThan(5000)
})

test('what a schema says twice is worked out once', () => {
  const start = performance.now()
  for (const schema of [
    chain(30, bothOf)(true),
    chain(30, below => ({ oneOf: [tagged(below, 'a'), tagged(below, 'b')] }))({ type: 'null' }),
    { oneOf: [tagged({ $ref: '#' }, 'a'), { type: 'null' }, tagged({ $ref: '#' }, 'b')] },
    { type: 'string', pattern: '^\\p{L}{3}(\\p{L}|-)\\p{L}*$' },
    { enum: Array.from({ length: 500 }, (_, i) => `value ${i}`) },
  ])
    expect(() => formOf({ kind: 'schema', schema })).not.toThrow()
  expect(() => formOf({ kind: 'regex', pattern: '\\p{L}'.repeat(100) })).not.toThrow()
  expect(performance.now() - start).toBeLessThan(5000)
})

test('a reference that is no percent-encoded text is refused by its name', () => {
  expect(() => formOf({ kind: 'schema', schema: { $ref: '#/%' } })).toThrow(/\$ref has "%"/)
})

test('a pattern of names is matched in time that has a bound, and refused where it is none', () => {
  const named = (pattern: string, name: string) => ({
    kind: 'schema',
    schema: { properties: { [name]: {} }, patternProperties: { [pattern]: { type: 'integer' } } },
  })
  const start = performance.now()
  formOf(named('^(a+)+$', `${'a'.repeat(40)}!`))
  expect(performance.now() - start).toBeLessThan(5000)
  expect(() => formOf(named('(', 'a'))).toThrow(GrammarError)
})

const machineFor = (schema: Schema) => createMachine(schemaGrammar(schema))
const refusal = (schema: Schema) => {
  try {
    machineFor(schema)
    return 'taken'
  } catch (error) {
    return error instanceof GrammarError ? error.message : error
  }
}

test('what one part of allOf says of all properties holds beside patterns of another', () => {
  const open = { patternProperties: { '^a': { type: 'integer' } } }
  expect(refusal({ type: 'object', allOf: [open, { additionalProperties: false }] })).toMatch(
    /^patternProperties beside/,
  )
})

test.each<[Schema, string]>([
  [{ type: 'object', patternProperties: { '^a': {}, '^b': {} }, minProperties: 1 }, 'minProperties 1 is'],
  [{ type: 'object', additionalProperties: false, minProperties: 1 }, 'minProperties 1 is not supported'],
  [{ properties: { a: {} }, required: ['a', 'a'], minProperties: 2 }, 'minProperties 2 is not supported'],
  [{ type: 'object', minProperties: 1, maxProperties: 0 }, 'no finite text'],
  [{ maxItems: 2.5 }, 'maxItems must be a whole number from 0 on, got 2.5'],
  [{ minLength: -1 }, 'minLength must be a whole number from 0 on, got -1'],
  [{ required: [1] }, 'required must be names of properties, got 1'],
])('%j, which the grammar would not keep, is refused', (schema, why) => {
  expect(refusal(schema)).toContain(why)
})
