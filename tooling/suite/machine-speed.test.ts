import { expect, test } from 'vitest'
import { roundMs, slowness } from './machine-speed.ts'

test('a machine is never taken for faster than the reference, and a round takes milliseconds', () => {
  expect(slowness()).toBeGreaterThanOrEqual(1)
  expect(roundMs()).toBeGreaterThan(0.1)
  expect(roundMs()).toBeLessThan(5000)
})
