import { expect, test } from 'vitest'
import { philox, uniform } from './philox.ts'

// The known answers that the authors of Random123 publish for philox4x32-10.
test.each([
  [
    [0, 0, 0, 0],
    [0, 0],
    [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
  ],
  [
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    [0xffffffff, 0xffffffff],
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  ],
  [
    [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    [0xa4093822, 0x299f31d0],
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  ],
] as const)('philox4x32-10 of counter %j and key %j', (counter, key, words) => {
  expect(philox(counter, key)).toEqual(words)
})

test("an element's number depends only on its stream and index", () => {
  const stream = { seed: 7, step: 3, op: 5 }
  const first = uniform(stream, 1001)
  expect(first).toBe(((philox([250, 0, 5, 3], [7, 0])[1] ?? 0) >>> 8) * 2 ** -24)
  expect(uniform({ ...stream, step: 4 }, 1001)).not.toBe(first)
  expect(uniform(stream, 1002)).not.toBe(first)
})

test('numbers are uniform over [0, 1)', () => {
  const mean =
    Array.from({ length: 4000 }, (_, i) => uniform({ seed: 1, step: 0, op: 0 }, i)).reduce(
      (a, b) => a + b,
      0,
    ) / 4000
  // The mean of n uniform numbers has standard deviation 1/sqrt(12n) = 0.0046 here.
  expect(Math.abs(mean - 0.5)).toBeLessThan(0.015)
})
