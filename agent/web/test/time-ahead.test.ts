import { expect, test } from 'vitest'
import { formatAhead } from '../src/ui/time-ahead.tsx'

test('a time ahead says how far off it is, and its clock in the zone of the reader', () => {
  const now = new Date(2026, 10, 29, 2, 35).getTime()
  const ahead = (...at: [number, number, number]) => formatAhead(new Date(2026, 10, ...at).toISOString(), now)
  expect(ahead(29, 3, 4)).toBe('in 29 min, 03:04')
  expect(ahead(30, 9, 0)).toBe('in 30 h, 30 Nov, 09:00')
  expect(ahead(29, 2, 35)).toBe('now, 02:35')
})
