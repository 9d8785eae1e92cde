/** Sums of usage, and their chart. Pure. */
import type { AnswerOf, ArtifactSpec } from '@cairn/protocol'

type Row = AnswerOf<'usage'>['rows'][number]
type Chart = Extract<ArtifactSpec, { kind: 'chart' }>['chart']

/** Sums over all days, the highest cost first. */
export function totals(rows: readonly Row[]): Omit<Row, 'day'>[] {
  const sums = new Map<string, Omit<Row, 'day'>>()
  for (const { day: _day, ...row } of rows) {
    const sum = sums.get(row.name)
    if (sum === undefined) sums.set(row.name, { ...row })
    else
      for (const key of ['calls', 'input_tokens', 'output_tokens', 'cost_usd', 'unpriced_calls'] as const)
        sum[key] += row[key]
  }
  return [...sums.values()].toSorted((a, b) => b.cost_usd - a.cost_usd || tokens(b) - tokens(a))
}

const tokens = ({ input_tokens, output_tokens }: Omit<Row, 'day'>): number => input_tokens + output_tokens

/** More colours are hard to distinguish; the rest is one series. */
const MAX_SERIES = 6

const DAY_MS = 86_400_000

/** The UTC days of a range: `count` days before today, and today. */
export const daysUntil = (now: number, count: number): string[] =>
  Array.from({ length: count + 1 }, (_, at) =>
    new Date(now - (count - at) * DAY_MS).toISOString().slice(0, 10),
  )

/** One bar for each day and name. Days without usage are included, so that the axis is to scale. */
export function usageChart(
  rows: readonly Row[],
  what: 'cost' | 'tokens',
  nameOf: (name: string) => string,
  days: readonly string[],
): Chart {
  const labels = [...new Set([...days, ...rows.map(({ day }) => day)])].toSorted()
  const names = totals(rows).map(({ name }) => name)
  const shown = names.slice(0, names.length > MAX_SERIES ? MAX_SERIES - 1 : MAX_SERIES)
  const valueOf = (row: Row): number => (what === 'cost' ? row.cost_usd : tokens(row))
  const daily = (fits: (name: string) => boolean): number[] =>
    labels.map(day =>
      rows.filter(row => row.day === day && fits(row.name)).reduce((sum, row) => sum + valueOf(row), 0),
    )
  const datasets = shown.map(name => ({ label: nameOf(name), data: daily(other => other === name) }))
  if (shown.length < names.length)
    datasets.push({ label: 'others', data: daily(name => !shown.includes(name)) })
  return { type: 'bar', labels, datasets }
}
