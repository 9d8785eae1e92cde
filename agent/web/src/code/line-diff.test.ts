import { expect, test } from 'vitest'
import { diffLines } from './line-diff.ts'

test('a diff has lines with numbers and the counts of added and removed lines', () => {
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

test('equal texts have no hunk; a new file is all added; a missing final newline is not a line', () => {
  expect(diffLines('a\n', 'a\n')).toEqual({ hunks: [], added: 0, removed: 0 })
  expect(diffLines('', 'x\ny')).toMatchObject({ added: 2, removed: 0 })
})
