import { expect, test } from 'vitest'
import { findOverspent } from './overspent.ts'

const goal = { started_at: '2026-01-01T00:00:00.000Z' }

test('names each budget that is used up', () => {
  const at = (minutes: number) => Date.parse('2026-01-01T00:00:00.000Z') + minutes * 60_000
  expect(findOverspent({}, goal, { tokens: 1e9, cost_usd: 1e9 }, at(1e6))).toBeNull()
  expect(findOverspent({ max_tokens: 10 }, goal, { tokens: 10, cost_usd: 0 }, at(0))).toContain(
    'token budget of the goal is used up: 10 of 10',
  )
  expect(findOverspent({ max_cost_usd: 0.5 }, goal, { tokens: 0, cost_usd: 0.51 }, at(0))).toContain(
    'cost budget',
  )
  expect(findOverspent({ max_minutes: 5 }, goal, { tokens: 0, cost_usd: 0 }, at(5))).toContain('time budget')
  expect(
    findOverspent({ max_tokens: 10, max_minutes: 5 }, goal, { tokens: 9, cost_usd: 0 }, at(4)),
  ).toBeNull()
})
