/** Grammars of numbers, regular expressions, characters and strings against reference implementations. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseEbnf } from './ebnf.ts'
import { characters, complement } from './expression.ts'
import type { Expression } from './grammar.ts'
import { stringNot } from './json-text.ts'
import { acceptsText, createMachine } from './machine.ts'
import { integer, number } from './numbers.ts'
import { regexExpression } from './regex.ts'
import { createTokenTrie } from './token-trie.ts'

const machineOf = (root: Expression) => createMachine({ root: 'root', rules: new Map([['root', root]]) })
const accepts = (root: Expression, texts: readonly string[]) => {
  const machine = machineOf(root)
  return texts.filter(text => acceptsText(machine, text))
}

test('an integer grammar accepts exactly the integers within its bounds', () => {
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

test('a number grammar accepts only numbers within its bounds', () => {
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
])('the regular expression %s matches the same texts as RegExp', source => {
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

test('a character range accepts exactly its code points in UTF-8', () => {
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

test('stringNot excludes the names already used', () => {
  const texts = ['""', '"a"', '"ab"', '"abc"', '"b"', '"\\n"', '"\\""']
  expect(accepts(stringNot(['a', 'abc', '\n']), texts)).toEqual(['""', '"ab"', '"b"', '"\\""'])
})

test('a mask contains exactly the tokens whose bytes may come next', () => {
  const words = ['a', 'b', 'ab', 'aab', 'ba', 'aa', '', 'c', 'ab']
  const trie = createTokenTrie(words.length, token => new TextEncoder().encode(words[token] ?? ''))
  const machine = createMachine(parseEbnf('root ::= "a"+ "b" # one\n'))
  const tokensOf = (mask: Int32Array) => words.flatMap((_, i) => (((mask[0] ?? 0) >> i) & 1 ? [i] : []))
  expect(tokensOf(trie.allowed(machine, machine.start))).toEqual([0, 2, 3, 5, 8])
  const end = [...'ab'].reduce(
    (state, letter) => machine.step(state, letter.charCodeAt(0)) ?? state,
    machine.start,
  )
  expect([end.accepts, tokensOf(trie.allowed(machine, end))]).toEqual([true, []])
})

const COUNTED = [
  '"[ab]{6,9}"',
  '(a|bb){5,}c',
  '(ab?){0,7}',
  '((a|b){2,6}c){2,5}',
  '(a?b?){4,8}c',
  'é{6}a{4,6}',
]
test.each(COUNTED)('ignoring counts beyond the longest token does not change a mask: %s', source => {
  const words = ['a', 'b', 'c', 'é', '"', 'ab', 'bb', 'bc', 'ca', 'aab', 'aab"', 'aaaa', 'bbbc', 'éa', 'éé']
  const trie = createTokenTrie(words.length, token => new TextEncoder().encode(words[token] ?? ''))
  expect(trie.maxTokenBytes).toBe(4)
  const machine = machineOf(regexExpression(source, characters))
  fc.assert(
    fc.property(fc.array(fc.nat({ max: words.length - 1 }), { maxLength: 12 }), drawn => {
      let state = machine.start
      for (const token of drawn) {
        const near = machine.within(state, trie.maxTokenBytes)
        const mask = trie.allowed(machine, state)
        expect([near.accepts, trie.allowed(machine, near)]).toEqual([state.accepts, mask])
        if (((mask[0] ?? 0) & (1 << token)) === 0) continue
        for (const byte of trie.bytesOf(token) ?? []) state = machine.step(state, byte) ?? state
      }
    }),
    { numRuns: 100 },
  )
})

test('a long string of counted characters has few masks', () => {
  const machine = machineOf(regexExpression('[a-z]{900,1000}', characters))
  const near = new Set()
  let state = machine.start
  for (let i = 0; i < 1000; i++) {
    near.add(machine.within(state, 4))
    state = machine.step(state, 97) ?? state
  }
  // Far from both bounds, near the lower one, between them, and near the upper one.
  expect(near.size).toBeLessThan(12)
})

test('parses a text in many ways, up to a limit', () => {
  const nested = createMachine(parseEbnf('root ::= "x" root "y" | "x" root "z" | "w"'))
  expect(acceptsText(nested, `${'x'.repeat(9)}w${'yz'.repeat(4)}y`)).toBe(true)
  expect(() => acceptsText(nested, `${'x'.repeat(60)}w${'y'.repeat(60)}`)).toThrow(/ways to parse one text/)
  expect(
    acceptsText(createMachine(parseEbnf('root ::= ("a" | "aa" | ())* "b"')), `${'a'.repeat(500)}b`),
  ).toBe(true)
  expect(acceptsText(createMachine(parseEbnf('root ::= [a-z]{0,100000}')), 'q'.repeat(5000))).toBe(true)
})
