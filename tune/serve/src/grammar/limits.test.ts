/**
 * Cost limits of the forms that a client may send: each one is accepted, or rejected before it takes long.
 */
import { expect, test } from 'vitest'
import { parseEbnf } from './ebnf.ts'
import { GrammarError } from './expression.ts'
import { createForms } from './forms.ts'
import { oneOf } from './literals.ts'
import { acceptsText, createMachine, type State } from './machine.ts'
import type { Schema } from './schema-merge.ts'
import { schemaGrammar } from './schema.ts'
import type { FormSource } from './sources.ts'

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
/** A busy machine delays wall-clock time, but hardly changes CPU time. */
const cpuMs = () => process.cpuUsage().user / 1000
const bothOf = (below: object) => ({ allOf: [below, below] })
const either = (below: object) => ({ anyOf: [below, below] })
const tagged = (inner: object, tag: string) => ({
  type: 'object',
  properties: { next: inner, kind: { const: tag } },
  required: ['next', 'kind'],
})

/** Promise T6.6: A form that would cost more than the limit is rejected. */
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
])('rejects quickly: %s', (_, source) => {
  const start = cpuMs()
  expect(() => formOf('schema' in source ? { kind: 'schema', ...source } : source)).toThrow(GrammarError)
  expect(cpuMs() - start).toBeLessThan(5000)
})

test('compiles repeated parts of a schema only once', () => {
  const start = cpuMs()
  for (const schema of [
    chain(30, bothOf)(true),
    chain(30, below => ({ oneOf: [tagged(below, 'a'), tagged(below, 'b')] }))({ type: 'null' }),
    { oneOf: [tagged({ $ref: '#' }, 'a'), { type: 'null' }, tagged({ $ref: '#' }, 'b')] },
    { type: 'string', pattern: '^\\p{L}{3}(\\p{L}|-)\\p{L}*$' },
    { enum: Array.from({ length: 500 }, (_, i) => `value ${i}`) },
  ])
    expect(() => formOf({ kind: 'schema', schema })).not.toThrow()
  expect(() => formOf({ kind: 'regex', pattern: '\\p{L}'.repeat(100) })).not.toThrow()
  expect(cpuMs() - start).toBeLessThan(5000)
})

test('rejects a reference with invalid percent-encoding by name', () => {
  expect(() => formOf({ kind: 'schema', schema: { $ref: '#/%' } })).toThrow(/\$ref has "%"/)
})

test('matches a pattern of names in bounded time and rejects an invalid one', () => {
  const named = (pattern: string, name: string) => ({
    kind: 'schema',
    schema: { properties: { [name]: {} }, patternProperties: { [pattern]: { type: 'integer' } } },
  })
  const start = cpuMs()
  formOf(named('^(a+)+$', `${'a'.repeat(40)}!`))
  expect(cpuMs() - start).toBeLessThan(5000)
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

test('rejects allOf with additionalProperties in one part and patternProperties in another', () => {
  const open = { patternProperties: { '^a': { type: 'integer' } } }
  expect(refusal({ type: 'object', allOf: [open, { additionalProperties: false }] })).toMatch(
    /^patternProperties with properties/,
  )
})

test.each<[Schema, string]>([
  [{ type: 'object', patternProperties: { '^a': {}, '^b': {} }, minProperties: 1 }, 'minProperties 1 is'],
  [{ type: 'object', additionalProperties: false, minProperties: 1 }, 'minProperties 1 is not supported'],
  [{ properties: { a: {} }, required: ['a', 'a'], minProperties: 2 }, 'minProperties 2 is not supported'],
  [{ type: 'object', minProperties: 1, maxProperties: 0 }, 'no finite text'],
  [{ maxItems: 2.5 }, 'maxItems must be a whole number of at least 0, got 2.5'],
  [{ minLength: -1 }, 'minLength must be a whole number of at least 0, got -1'],
  [{ required: [1] }, 'required must be a list of property names, got 1'],
])('rejects %j, which the grammar cannot enforce', (schema, why) => {
  expect(refusal(schema)).toContain(why)
})

test('completes one of thousands of texts', () => {
  const texts = Array.from({ length: 2500 }, (_, i) => `text ${i * 7919}`)
  for (const source of [
    { kind: 'choice', texts },
    { kind: 'schema', schema: { enum: texts } },
  ]) {
    const matcher = formOf(source).begin()
    const answer = source.kind === 'choice' ? 'text 7919' : '"text 7919"'
    for (const byte of new TextEncoder().encode(answer)) matcher.accept(byte)
    expect((matcher.mask()[8] ?? 0) & 1).toBe(1)
  }
  const machine = createMachine({
    root: 'root',
    rules: new Map([['root', oneOf(['a', 'ab', 'ac', 'a', ''])]]),
  })
  expect(['', 'a', 'ab', 'ac', 'b', 'abc'].filter(text => acceptsText(machine, text))).toEqual([
    '',
    'a',
    'ab',
    'ac',
  ])
})

test('rejects a form with too many alternatives at one position before an answer starts', () => {
  const names = Array.from({ length: 1500 }, (_, i) => `name ${i}`)
  const properties = Object.fromEntries(names.map(name => [name, { type: 'null' }]))
  expect(() => formOf({ kind: 'schema', schema: { type: 'object', properties } })).toThrow(GrammarError)
  const cases = Array.from({ length: 4200 }, (_, i) => `ab${i}`).join('|')
  expect(() => formOf({ kind: 'regex', pattern: cases })).toThrow(/4096 alternatives at one position/)
})

test('a mask that takes too long fails only its own answer, with the reason', () => {
  const words = Array.from({ length: 4096 }, (_, i) =>
    new TextEncoder().encode(i.toString(2).padStart(12, '0').replaceAll('0', 'a').replaceAll('1', 'z')),
  )
  const slow = createForms(token => words[token], 4097, [4096]).of({
    kind: 'regex',
    pattern: '[\\s\\S]*[a-m][\\s\\S]{3000}',
    startsInThought: false,
  })
  const matcher = slow.begin()
  const start = cpuMs()
  let steps = 0
  expect(() => {
    for (; steps < 1000; steps++) {
      matcher.mask()
      matcher.accept(0)
    }
  }).toThrow(/takes too long/)
  expect((cpuMs() - start) / (steps + 1)).toBeLessThan(2000)
})

test('releases states that are no longer needed', () => {
  const machine = createMachine(parseEbnf('root ::= [a-z]{0,100000}'))
  let state: State = machine.start
  for (let i = 0; i < 20_000; i++) state = machine.step(state, 0x61) ?? state
  let linked = 0
  for (let at: State | null | undefined = machine.start; at; at = at.next[0x61]) linked++
  expect(linked).toBeLessThan(10_000)
  expect(machine.step(state, 0x7a)?.accepts).toBe(true)
})

test('letters of every script in a long text stay within the time limit of a mask', () => {
  const words = Array.from({ length: 20_000 }, (_, i) =>
    new TextEncoder().encode((i * 7919).toString(36).padStart(8 + (i % 24), 'aăбя한')),
  )
  const form = createForms(token => words[token], 20_001, [20_000]).of({
    kind: 'regex',
    pattern: '[\\p{L}\\d]{0,200}',
    startsInThought: false,
  })
  const matcher = form.begin()
  matcher.mask()
  expect(() => matcher.accept(1)).not.toThrow()
})
