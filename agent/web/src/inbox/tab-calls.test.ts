import { expect, test } from 'vitest'
import { countedTitle } from './tab-calls.ts'

test('the title starts with one count, which is removed with the last item', () => {
  expect(countedTitle('Cairn', 2)).toBe('(2) Cairn')
  expect(countedTitle('(2) Question · Tour · Cairn', 3)).toBe('(3) Question · Tour · Cairn')
  expect(countedTitle('(99+) Cairn', 0)).toBe('Cairn')
  expect(countedTitle('Cairn', 120)).toBe('(99+) Cairn')
})
