import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

const backoff = { baseMs: 1000, maxMs: 60_000 }

test('a delay is between 0 and the base doubled per attempt, and never above the maximum', () => {
  fc.assert(
    fc.property(
      fc.nat(40),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, random) => {
        const ms = backoffMs(backoff, attempt, random)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThan(Math.min(60_000, 1000 * 2 ** attempt))
      },
    ),
  )
})

test('a Retry-After of the server is a minimum, and is capped at five minutes', () => {
  expect(backoffMs(backoff, 0, 0.5, 9000)).toBe(9000)
  expect(backoffMs(backoff, 6, 0.99, 10)).toBe(59_400)
  expect(backoffMs(backoff, 0, 0, 3_600_000)).toBe(300_000)
})
