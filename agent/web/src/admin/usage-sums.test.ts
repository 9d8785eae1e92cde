import type { AnswerOf } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { daysUntil, totals, usageChart } from './usage-sums.ts'

const row = (day: string, name: string, cost_usd: number): AnswerOf<'usage'>['rows'][number] => ({
  day,
  name,
  calls: 1,
  input_tokens: 10,
  output_tokens: 5,
  cost_usd,
  unpriced_calls: 0,
})

test('sums over all days, highest cost first', () => {
  const rows = [row('2026-11-21', 'a', 1), row('2026-11-22', 'b', 5), row('2026-11-22', 'a', 2)]
  expect(totals(rows).map(({ name, calls, cost_usd }) => [name, calls, cost_usd])).toEqual([
    ['b', 1, 5],
    ['a', 2, 3],
  ])
})

test('the chart has every day once, and groups all but the largest five names as others', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const rows = names.map((name, at) => row(at % 2 === 0 ? '2026-11-22' : '2026-11-21', name, 7 - at))
  const chart = usageChart(rows, 'cost', name => name.toUpperCase(), ['2026-11-22', '2026-11-23'])
  expect(chart.labels).toEqual(['2026-11-21', '2026-11-22', '2026-11-23'])
  expect(chart.datasets.map(({ label }) => label)).toEqual(['A', 'B', 'C', 'D', 'E', 'others'])
  expect(chart.datasets.at(-1)?.data).toEqual([2, 1, 0])
  expect(usageChart(rows, 'tokens', name => name, []).datasets[0]?.data).toEqual([0, 15])
})

test('a range has each of its days once, also across the end of a month', () => {
  expect(daysUntil(Date.parse('2026-03-01T23:59:00Z'), 2)).toEqual(['2026-02-27', '2026-02-28', '2026-03-01'])
})
