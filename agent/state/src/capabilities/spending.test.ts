import { expect, test } from 'vitest'
import { leftOf, noSpending, partUsed, shareOf, type Spending } from './spending.ts'

const AT = Date.UTC(2026, 10, 22)
const spent = (more: Partial<Spending>): Spending => ({ ...noSpending, ...more })

test('budget reserved for running children counts as used', () => {
  const spending = spent({
    tokens: 1000,
    cost_usd: 0.1,
    reserved: [{ worker_id: 'a', tokens: 4000, cost_usd: 0.4 }],
  })
  const budget = { max_tokens: 10_000, max_cost_usd: 1 }
  expect(leftOf(budget, spending, AT)).toEqual({ tokens: 5000, cost_usd: 0.5 })
  expect(partUsed(budget, spending, AT)).toBe(0.5)
  expect(leftOf({}, spending, AT)).toEqual({})
  expect(partUsed({}, spending, AT)).toBe(0)
})

test('minutes count from the first claim of the session', () => {
  const budget = { max_minutes: 10 }
  expect(partUsed(budget, noSpending, AT)).toBe(0)
  const spending = spent({ since: new Date(AT).toISOString() })
  expect(partUsed(budget, spending, AT + 9 * 60_000)).toBeCloseTo(0.9)
  expect(leftOf(budget, spending, AT + 9 * 60_000).minutes).toBeCloseTo(1)
})

test('a child gets the requested budget, capped at its share of the remaining one', () => {
  const asked = { max_tokens: 500_000, max_cost_usd: 2, max_minutes: 30 }
  expect(shareOf({}, asked, 8)).toEqual(asked)
  expect(shareOf({ tokens: 80_000, cost_usd: 4, minutes: 5 }, asked, 8)).toEqual({
    max_tokens: 10_000,
    max_cost_usd: 0.5,
    max_minutes: 5,
  })
  expect(shareOf({ tokens: 15_999 }, {}, 8)).toBeNull()
  expect(shareOf({ tokens: 16_000 }, {}, 8)).toEqual({ max_tokens: 2000 })
  expect(shareOf({ cost_usd: 0 }, {}, 8)).toBeNull()
  expect(shareOf({ minutes: 0 }, {}, 8)).toBeNull()
})
