/**
 * How amounts, times and payloads read in one line: the words of the contract's summaries, for the page and
 * the terminal alike. Pure.
 */
import { visibleText } from './visible-text.ts'

const grouped = new Intl.NumberFormat('en-US')

export const formatCount = (n: number): string => grouped.format(n)

/** 950 → "950", 12345 → "12.3k", 2500000 → "2.5M". */
export function formatTokens(n: number): string {
  if (n < 1000) return String(n)
  if (n < 100_000) return `${trimZero((n / 1000).toFixed(1))}k`
  if (n < 1_000_000) return `${Math.round(n / 1000)}k`
  return `${trimZero((n / 1_000_000).toFixed(1))}M`
}

/** Dollars with as many digits as the amount needs: "$0", "$0.0042", "$1.27". */
export function formatCost(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < 0.0001) return '<$0.0001'
  return usd < 0.1 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`
}

/** What was spent; a call without a known rate makes it a lower bound, or no figure at all. */
export const formatSpent = (usd: number, isUnpriced: boolean): string =>
  !isUnpriced ? formatCost(usd) : usd === 0 ? 'unpriced' : `over ${formatCost(usd)}`

/** "380 ms", "2.4 s", "3m 05s", "2h 10m". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${trimZero((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 1440
    ? `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`
    : `${Math.floor(minutes / 1440)}d ${Math.floor((minutes % 1440) / 60)}h`
}

export const formatSize = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1_048_576
      ? `${trimZero((bytes / 1024).toFixed(1))} KB`
      : `${trimZero((bytes / 1_048_576).toFixed(1))} MB`

/** One line of at most `max` characters, with what does not show drawn. */
export function oneLine(text: string, max = 160): string {
  const line = visibleText(
    text
      .slice(0, max * 2)
      .replace(/\s+/g, ' ')
      .trim(),
  )
  return line.length > max || text.length > max * 2 ? `${line.slice(0, max - 1)}…` : line
}

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${formatCount(n)} ${n === 1 ? one : many}`

const two = (n: number) => String(n).padStart(2, '0')
const trimZero = (text: string) => text.replace(/\.0+$|(\.\d*[1-9])0+$/, '$1')

type Priced = { cost_usd?: number | undefined; cost_unpriced_model?: string | undefined }
type Usage = Priced & { input_tokens?: number | undefined; output_tokens?: number | undefined }

export const join = (...parts: (string | null | undefined | false)[]): string =>
  parts.filter(Boolean).join(' · ')
export const quote = (text: string, max = 120): string => `“${oneLine(text, max)}”`
const price = (d: Priced): string | false | undefined =>
  d.cost_usd === undefined ? d.cost_unpriced_model && 'unpriced' : formatCost(d.cost_usd)
export const usageText = (d: Usage): string =>
  join(
    d.input_tokens !== undefined && `${formatTokens(d.input_tokens)} in`,
    d.output_tokens !== undefined && `${formatTokens(d.output_tokens)} out`,
    price(d),
  )
/** Any value as JSON on one line. */
export const compact = (value: unknown): string => oneLine(JSON.stringify(value) ?? '')
/** An id, its middle left out when it is long. */
export const short = (id: string): string => (id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-4)}` : id)
export const secondsText = (s: number): string => formatDuration(s * 1000)

export const ratingText = (d: {
  rating: 'up' | 'down'
  withdrawn?: true | undefined
  target_event_id: number
  source: string
  score?: number | undefined
  reason?: string | undefined
}): string =>
  join(
    `${d.rating === 'up' ? '▲' : '▼'} event ${d.target_event_id}`,
    d.withdrawn && 'taken back',
    `by ${d.source}`,
    d.score !== undefined && `score ${d.score}`,
    d.reason,
  )
export const sagaStepText = (d: {
  tool_name: string
  state: string
  step_id: string
  compensation_tool?: string | undefined
  error?: string | undefined
}): string =>
  join(
    `${d.tool_name} ${d.state}`,
    `step ${short(d.step_id)}`,
    d.compensation_tool && `undo: ${d.compensation_tool}`,
    d.error && quote(d.error),
  )
export const goalText = (d: { description: string; max_iterations: number }): string =>
  join(quote(d.description), `at most ${plural(d.max_iterations, 'iteration')}`)

/** The `error` of a failed tool's content (contract 13.1); null for everything else that a tool said. */
export function toolError(content: string): string | null {
  if (!content.startsWith('{') || !content.includes('"error"')) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(content)
  } catch {
    return null // a text result that begins with a brace
  }
  if (typeof parsed !== 'object' || parsed === null || !('error' in parsed)) return null
  return typeof parsed.error === 'string' ? parsed.error : compact(parsed.error)
}
