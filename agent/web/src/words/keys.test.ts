import { expect, test } from 'vitest'
import { withoutLetters } from './keys.ts'

test('without single-letter keys a row keeps its other keys, and one of letters alone disappears', () => {
  const left = (...keys: string[]) => withoutLetters([keys, 'text'])?.[0] ?? null
  for (const keys of [
    ['Ctrl', 'K'],
    ['Esc'],
    ['Shift', 'Enter'],
    ['↑'],
    ['←', '→'],
    ['Page Down', 'Page Up'],
  ])
    expect(left(...keys)).toEqual(keys)
  expect(left('j', '↓')).toEqual(['↓'])
  for (const keys of [['A'], ['?'], ['['], ['G', 'H'], ['Shift', 'E'], ['1…9'], ['0'], ['+', '−']])
    expect(left(...keys)).toBeNull()
})
