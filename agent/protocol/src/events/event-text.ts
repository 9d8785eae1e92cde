/** One-line summaries of event payloads, for the page and the terminal. Pure. */
import { formatCost, formatDuration, formatTokens, oneLine, plural } from '../text/amounts.ts'

export * from '../text/amounts.ts'

type Priced = { cost_usd?: number | undefined; cost_unpriced_model?: string | undefined }
type Usage = Priced & { input_tokens?: number | undefined; output_tokens?: number | undefined }

export const join = (...parts: (string | null | undefined | false)[]): string =>
  parts.filter(Boolean).join(' · ')
export const quote = (text: string, max = 120): string => `“${oneLine(text, max)}”`
/** Omits a cost of zero: it includes calls without a known rate, and the turn is marked "unpriced". */
const price = (d: Priced): string | false | undefined =>
  d.cost_usd ? formatCost(d.cost_usd) : d.cost_unpriced_model && 'no price set'
export const usageText = (d: Usage): string =>
  join(
    d.input_tokens !== undefined && `${formatTokens(d.input_tokens)} in`,
    d.output_tokens !== undefined && `${formatTokens(d.output_tokens)} out`,
    price(d),
  )
/** Any value as JSON on one line. */
export const compact = (value: unknown): string => oneLine(JSON.stringify(value) ?? '')
/** An id with its middle elided if it is long. */
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

/** The `error` of a failed tool result (contract 13.1); null for any other content. */
export function toolError(content: string): string | null {
  if (!content.startsWith('{') || !content.includes('"error"')) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(content)
  } catch {
    return null // A text result that begins with a brace.
  }
  if (typeof parsed !== 'object' || parsed === null || !('error' in parsed)) return null
  return typeof parsed.error === 'string' ? parsed.error : compact(parsed.error)
}

/** True if the call is held for approval (contract 10.5), which is not a failure. */
export const isHeld = (content: string): boolean => toolError(content) === 'policy_blocked_overridable'

/** The outcome of a call: held for approval, or its duration with the result or error. */
export const toolResultText = (d: {
  name: string
  content: string
  elapsed_ms: number
  truncated?: boolean | undefined
}): string => {
  if (isHeld(d.content)) return `${d.name} held for approval`
  const error = toolError(d.content)
  return join(
    `${d.name} ${d.elapsed_ms === 0 ? 'refused' : formatDuration(d.elapsed_ms)}`,
    d.truncated && 'truncated',
    error === null ? oneLine(d.content, 120) : `✕ ${oneLine(error, 120)}`,
  )
}
