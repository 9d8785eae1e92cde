/** Which rows of a micro-batch a rank receives, and which of them it multiplies. */
import { expect, test } from 'vitest'
import { endsOfRank, rowsOfRank } from './rows-of-rank.ts'

/** Six experts of three ranks. The second and the last have no rows. */
const ends = Int32Array.of(3, 3, 10, 11, 20, 20)

test('the rows of all ranks are those of the micro-batch, in order', () => {
  expect([0, 1, 2].map(rank => rowsOfRank(ends, rank, 2))).toEqual([
    { from: 0, count: 3 },
    { from: 3, count: 8 },
    { from: 11, count: 9 },
  ])
})

test('a rank multiplies only the rows that it received', () => {
  for (const rank of [0, 1, 2]) expect(endsOfRank(ends, rank, 2).at(-1)).toBe(rowsOfRank(ends, rank, 2).count)
  expect([...endsOfRank(ends, 1, 2)]).toEqual([7, 8])
})
