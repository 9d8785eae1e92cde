/** Formats figures as Markdown tables that are also readable in a terminal. */
import type { LifeRow } from '@cairn/harness/bench/life'
import type { SwarmRow } from './swarm.ts'

export type Figure = {
  what: string
  concurrent: number
  per_second: number
  p50_ms: number | null
  p99_ms: number | null
}
/** `aim`: the target, in the same unit. */
export type Reading = { name: string; value: number; unit: string; aim?: string }

const number = new Intl.NumberFormat('en-US')

export const figureTable = (figures: readonly Figure[]): string =>
  table(
    ['the log alone', 'at once', 'per second', 'p50 ms', 'p99 ms'],
    figures.map(({ what, concurrent, per_second, p50_ms, p99_ms }) => [
      what,
      number.format(concurrent),
      number.format(per_second),
      shown(p50_ms),
      shown(p99_ms),
    ]),
  )

export function readingTable(title: string, readings: readonly Reading[]): string {
  const hasAims = readings.some(({ aim }) => aim !== undefined)
  return table(
    [title, 'value', 'unit', ...(hasAims ? ['aim'] : [])],
    readings.map(({ name, value, unit, aim = '' }) => [
      name,
      value >= 100 ? number.format(Math.round(value)) : String(value),
      unit,
      ...(hasAims ? [aim] : []),
    ]),
  )
}

export const swarmTable = (rows: readonly SwarmRow[]): string =>
  table(
    [
      'turns at once',
      'server',
      'all done, s',
      'first token p50 / p99, ms',
      'token p50 / p99, ms',
      'gap p99, ms',
      'chunks a turn',
      'CPU ms a turn',
      'processors busy',
      'peak RSS, MB',
      'lost, repeated',
    ],
    rows.map(row => [
      number.format(row.turns),
      row.server,
      row.all_done_s.toFixed(1),
      row.first_token_ms.map(whole).join(' / '),
      row.token_ms.map(whole).join(' / '),
      whole(row.gap_p99_ms),
      whole(row.chunks_a_turn),
      row.cpu_ms_a_turn.toFixed(1),
      `${whole(100 * row.busy)} %`,
      whole(row.peak_rss_mb),
      `${row.lost}, ${row.repeated}`,
    ]),
  )

export const lifeTable = (rows: readonly LifeRow[]): string =>
  table(
    ['events', 'began with', 'first wake, ms', 'more memory, MB', 'a turn after it, p50 ms', 'snapshot, KB'],
    rows.map(row => [
      number.format(row.events),
      row.began === 'log' ? 'the whole log' : 'its snapshot, if it has one',
      row.wake_ms.toFixed(1),
      row.more_mb.toFixed(1),
      row.turn_p50_ms.toFixed(1),
      whole(row.snapshot / 1000),
    ]),
  )

const whole = (value: number): string => number.format(Math.round(value))

/** The first column is left-aligned, the others right-aligned. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map(row => row[at]!.length)))
  const padded = (cell: string, at: number): string =>
    at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)
  const line = (row: readonly string[]): string => `| ${row.map(padded).join(' | ')} |\n`
  const rules = widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`))
  return `${line(head)}|${rules.join('|')}|\n${rows.map(line).join('')}`
}

const shown = (ms: number | null): string => (ms === null ? '' : ms < 10 ? ms.toFixed(2) : ms.toFixed(0))
