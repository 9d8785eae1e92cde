import { expect, test } from 'vitest'
import { compareCells } from '../src/artifacts/table-artifact.tsx'

test('sorts cells as numbers or as text with numbers, empty cells last', () => {
  expect([10, 9, null, 100].toSorted(compareCells)).toEqual([9, 10, 100, null])
  expect(['page 10', 'page 9', 'Page 1'].toSorted(compareCells)).toEqual(['Page 1', 'page 9', 'page 10'])
})
