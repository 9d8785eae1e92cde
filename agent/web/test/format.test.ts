import { expect, test } from 'vitest'
import {
  formatCost,
  formatDelta,
  formatDuration,
  formatEvery,
  formatSize,
  formatSpent,
  formatTokens,
  oneLine,
  plural,
} from '../src/format.ts'
import { formatAgo } from '../src/ui/use-now.ts'

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1k'],
  [12_345, '12.3k'],
  [123_456, '123k'],
  [2_500_000, '2.5M'],
])('%d tokens read %s', (n, text) => expect(formatTokens(n)).toBe(text))
test.each([
  [0, '$0'],
  [0.00001, '<$0.0001'],
  [0.0042, '$0.0042'],
  [0.5, '$0.50'],
  [133.164, '$133.16'],
])('%d dollars read %s', (usd, text) => expect(formatCost(usd)).toBe(text))
test.each([
  [0, false, '$0'],
  [0, true, 'no price set'],
  [0.5, true, 'over $0.50'],
])('%d dollars, unpriced calls %s, read %s', (usd, isUnpriced, text) =>
  expect(formatSpent(usd, isUnpriced)).toBe(text),
)
test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1500, '1.5 s'],
  [10_000, '10 s'],
  [12_340, '12.3 s'],
  [65_000, '1m 05s'],
  [3_660_000, '1h 01m'],
  [90_000_000, '1d 1h'],
])('%d ms read %s', (ms, text) => expect(formatDuration(ms)).toBe(text))
test.each([
  [0, '+0'],
  [42, '+42 ms'],
  [-5, '−5 ms'],
])('a delta of %d ms reads %s', (ms, text) => expect(formatDelta(ms)).toBe(text))
test.each([
  [10, '10 B'],
  [2048, '2 KB'],
  [1_572_864, '1.5 MB'],
])('%d bytes read %s', (n, text) => expect(formatSize(n)).toBe(text))

test('an interval is written in the largest unit that divides it', () => {
  expect([60, 300, 3600, 86_400, 172_800, 90].map(formatEvery)).toEqual([
    'every minute',
    'every 5 minutes',
    'every hour',
    'every day',
    'every 2 days',
    'every 90 seconds',
  ])
})

test('relative times become coarser with distance', () => {
  const now = Date.parse('2026-11-21T12:00:00Z')
  expect(
    [
      '2026-11-21T11:59:50Z',
      '2026-11-21T11:55:00Z',
      '2026-11-21T09:00:00Z',
      '2026-11-20T11:00:00Z',
      '2026-11-02T12:00:00Z',
    ].map(at => formatAgo(at, now)),
  ).toEqual(['now', '5 min', '3 h', 'yesterday', '2 Nov'])
})

test('one line has no breaks and respects its maximum length', () => {
  expect(oneLine('a\n\tb')).toBe('a b')
  expect(oneLine('x'.repeat(500), 20)).toHaveLength(20)
  expect(oneLine(`${' '.repeat(500)}late`, 20)).toBe('…')
})

test('one line shows invisible characters', () =>
  expect(oneLine('rm \u202Egnp\u200B \u001b[2J')).toBe('rm \\u{202E}gnp\\u{200B} \\u{1B}[2J'))

test('counts use the singular or plural', () =>
  expect([plural(1, 'event'), plural(2, 'event'), plural(1200, 'crash', 'crashes')]).toEqual([
    '1 event',
    '2 events',
    '1,200 crashes',
  ]))
