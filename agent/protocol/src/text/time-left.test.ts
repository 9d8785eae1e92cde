import { expect, test } from 'vitest'
import { formatInZone, formatLeft } from './time-left.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

test.each([
  [0, '1 min'],
  [29 * MINUTE + 20_000, '29 min'],
  [59.6 * MINUTE, '1 h'],
  [12 * HOUR, '12 h'],
  [47 * HOUR, '47 h'],
  [48 * HOUR, '2 days'],
  [400 * 24 * HOUR, '400 days'],
])('%d ms ahead read %s', (ms, text) => expect(formatLeft(ms)).toBe(text))

test('a time is written in its zone, with the year if it is another one there', () => {
  const at = Date.UTC(2026, 10, 29, 22, 5)
  expect(formatInZone(at, at, 'UTC')).toBe('29 Nov, 22:05')
  expect(formatInZone(at, at, 'Asia/Tokyo')).toBe('30 Nov, 07:05')
  const newYear = Date.UTC(2026, 11, 31, 23)
  expect(formatInZone(newYear, at, 'UTC')).toBe('31 Dec, 23:00')
  expect(formatInZone(newYear, at, 'Europe/Berlin')).toBe('1 Jan 2027, 00:00')
})
