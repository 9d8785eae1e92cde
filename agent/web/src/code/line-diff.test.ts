import { expect, test } from 'vitest'
import { diffLines } from './line-diff.ts'

test('a change has its lines with their numbers, and the sums', () => {
  const diff = diffLines('a\nb\nc\n', 'a\nB\nc\nd\n')
  expect(diff).toMatchObject({ added: 2, removed: 1 })
  expect(diff?.hunks.flatMap(({ lines }) => lines.map(({ sign, text }) => sign + text))).toEqual([
    ' a',
    '-b',
    '+B',
    ' c',
    '+d',
  ])
  expect(diff?.hunks[0]?.lines[1]).toEqual({ sign: '-', text: 'b', before: 2, after: null })
})

test('equal texts have no hunk; a new file is all added; a missing line end is no line', () => {
  expect(diffLines('a\n', 'a\n')).toEqual({ hunks: [], added: 0, removed: 0 })
  expect(diffLines('', 'x\ny')).toMatchObject({ added: 2, removed: 0 })
})
