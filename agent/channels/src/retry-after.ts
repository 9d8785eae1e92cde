/** Maximum time for which one response may pause a connection. */
const MAX_MS = 60 * 60_000

/** Parses Retry-After, in seconds or as an HTTP date; null if it is neither. */
export function retryAfterMs(text: string, now: number): number | null {
  const isDate = /^[A-Z][a-z]{2}, /.test(text)
  const ms = isDate ? Date.parse(text) - now : /^\d+$/.test(text) ? Number(text) * 1000 : NaN
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_MS)
}
