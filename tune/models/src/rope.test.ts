import { expect, test } from 'vitest'
import type { Rope } from './model-config.ts'
import { ropeTable } from './rope.ts'

const rope: Rope = { theta: 100, width: 4, scaling: undefined, attention_factor: 1 }
/** The angles of position 1. */
const angles = (one: Rope, positions: number) => {
  const row = ropeTable(positions, one).subarray(one.width, 2 * one.width)
  return [0, 1].map(i => Math.atan2(row[2 + i] ?? NaN, row[i] ?? NaN))
}

test('longrope uses its short factors up to the original length and its long ones beyond', () => {
  const scaling = { type: 'longrope', short: [1, 2], long: [4, 5], original: 8 } as const
  const [first, second] = angles(rope, 8)
  const stretched = { ...rope, scaling }
  expect(angles(stretched, 8)).toEqual([
    expect.closeTo(first ?? NaN, 6),
    expect.closeTo((second ?? NaN) / 2, 6),
  ])
  expect(angles(stretched, 9)).toEqual([
    expect.closeTo((first ?? NaN) / 4, 6),
    expect.closeTo((second ?? NaN) / 5, 6),
  ])
})

test('an attention factor multiplies cosines and sines', () => {
  const [plain, louder] = [ropeTable(5, rope), ropeTable(5, { ...rope, attention_factor: 1.5 })]
  for (const [i, value] of plain.entries()) expect(louder[i]).toBeCloseTo(1.5 * value, 6)
})
