import { expect, test } from 'vitest'
import { bytesText, memoryBudget, parseBytes } from './memory-budget.ts'

test.each([
  ['12GiB', 12 * 2 ** 30],
  ['500 MB', 5e8],
  ['1.5KiB', 1536],
  ['7B', 7],
  ['2TB', 2e12],
])('parses %s as %d bytes', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes)
})

test('rejects an invalid size with an example', () => {
  for (const text of ['12', '12 Gi', 'much', '-1GB']) expect(() => parseBytes(text)).toThrow(/such as 12GiB/)
})

test("the budget is the smaller of the limit and the machine's memory", () => {
  expect(memoryBudget('1MiB')).toBe(2 ** 20)
  const all = memoryBudget(undefined)
  expect(all).toBeGreaterThan(process.memoryUsage.rss())
  expect(memoryBudget('9000TiB')).toBeLessThan(2 * all)
})

test('prints sizes in readable units', () => {
  expect([3 * 2 ** 20, 200 * 2 ** 20, 1.5 * 2 ** 30].map(bytesText)).toEqual([
    '3.00 MiB',
    '200 MiB',
    '1.50 GiB',
  ])
})
