import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergeText } from './merge-text.ts'

test.each([
  ['changes of different lines', 'A\nb\nc\n', 'a\nb\nc\n', 'a\nb\nC\n', 'A\nb\nC\n'],
  ['the same change', 'a\nX\nc\n', 'a\nb\nc\n', 'a\nX\nc\n', 'a\nX\nc\n'],
  ['a line more on one side', 'a\nb\nc\n', 'a\nb\nc\n', 'a\nb\nc\nd\n', 'a\nb\nc\nd\n'],
  [
    'line ends of another system, and none at the end',
    'A\r\nb\r\nc',
    'a\r\nb\r\nc',
    'a\r\nb\r\nC',
    'A\r\nb\r\nC',
  ],
  ['different changes of one line', 'a\nX\nc\n', 'a\nb\nc\n', 'a\nY\nc\n', null],
  ['a change of what the other removed', 'a\nX\nc\n', 'a\nb\nc\n', 'a\nc\n', null],
])('%s', (_what, ours, original, theirs, merged) => {
  expect(mergeText(ours, original, theirs)).toBe(merged)
})

test('does not merge texts with thousands of equal lines, which would take minutes to compare', () => {
  const blank = '\n'.repeat(20_000)
  // In processor time, which a busy machine does not stretch.
  const before = process.cpuUsage()
  expect(mergeText(`x\n${blank}`, blank, `${blank}y\n`)).toBeNull()
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000)
})

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 8 })
  .map(lines => lines.map(line => `${line}\n`).join(''))

test('property: takes the changes of one side as they are', () => {
  fc.assert(
    fc.property(text, text, (original, changed) => {
      expect(mergeText(changed, original, original)).toBe(changed)
      expect(mergeText(original, original, changed)).toBe(changed)
    }),
    { numRuns: 500 },
  )
})
