import { expect, test } from 'vitest'
import { timeAhead, whenOf } from './live-schedules.ts'

const NOW = Date.UTC(2026, 10, 29, 20)
const interval = { cron: null, every_s: 1800, timezone: 'UTC' }
const daily = { cron: '0 9 * * *', every_s: null, timezone: 'Europe/Berlin' }

test('a reply names the next run by how far off it is, and by the clock of the schedule', () => {
  expect(timeAhead(NOW + 29 * 60_000, NOW, interval)).toBe('in 29 min')
  expect(timeAhead(Date.UTC(2026, 10, 30, 8), NOW, daily)).toBe('in 12 h, 30 Nov, 09:00 Europe/Berlin')
})

test('the times of a schedule are words; a cron expression is code, so that its stars stay', () => {
  expect(whenOf(interval)).toBe('every 30 min')
  expect(whenOf(daily)).toBe('at `0 9 * * *` (Europe/Berlin)')
  expect(whenOf({ ...interval, every_s: null })).toBe('once')
})
