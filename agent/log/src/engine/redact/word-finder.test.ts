import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createWordFinder, type Word } from './word-finder.ts'

test('finds each word in any position, also within another word and after a false start', () => {
  const find = createWordFinder([
    ['he', 1],
    ['she', 2],
    ['hers', 4],
    ['aab', 8],
  ])
  expect(find('ushers')).toBe(7)
  expect(find('aaab')).toBe(8)
  expect(find('h e')).toBe(0)
  expect(find('')).toBe(0)
})

test('property: every contained word is found, and for ASCII words no other', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 40 })
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), text, (words, sample) => {
      const find = createWordFinder(words.map((each, at): Word => [each, 1 << at]))
      const there = words.reduce((mask, each, at) => (sample.includes(each) ? mask | (1 << at) : mask), 0)
      expect(find(sample)).toBe(there)
    }),
    { numRuns: 2000 },
  )
  const any = fc.string({ unit: 'binary', maxLength: 20 })
  fc.assert(
    fc.property(
      any.filter(each => each !== ''),
      any,
      any,
      (each, before, after) => {
        expect(createWordFinder([[each, 1]])(before + each + after)).toBe(1)
      },
    ),
    { numRuns: 2000 },
  )
})
