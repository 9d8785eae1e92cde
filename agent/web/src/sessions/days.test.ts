import type { Session } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { byDay } from './days.ts'

const at = (day: string, cost_usd = 0) => {
  const created_at = new Date(`${day}T12:00:00`).toISOString()
  return { id: day, created_at, updated_at: created_at, cost_usd } as Session
}
const now = new Date('2026-11-23T00:30:00').getTime()

test('groups sessions by day, labeled in everyday words', () => {
  const days = ['2026-11-23', '2026-11-22', '2026-11-22', '2026-11-17', '2026-11-16', '2025-11-23']
  expect(
    byDay(
      days.map(day => at(day)),
      'created',
      now,
    ).map(({ label, sessions }) => [label, sessions.length]),
  ).toEqual([
    ['Today', 1],
    ['Yesterday', 2],
    ['Tuesday', 1],
    ['16 November', 1],
    ['23 November 2025', 1],
  ])
})

test('has no days when sorted by cost', () => {
  expect(byDay([at('2026-11-23', 2), at('2025-11-23', 1)], 'cost', now)).toHaveLength(1)
  expect(byDay([], 'cost', now)).toEqual([])
})
