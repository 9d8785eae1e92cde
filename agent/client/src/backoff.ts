/** How long to wait before connecting again. */

export type Backoff = {
  /** Wait before the first attempt; the server's `retry:` replaces it. Milliseconds. */
  baseMs: number
  maxMs: number
}

/**
 * Doubles with each attempt that brought nothing; between half and all of it, so that clients of one server
 * spread out.
 */
export function backoffMs(attempt: number, { baseMs, maxMs }: Backoff, random: number): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30))
  return full * (0.5 + random / 2)
}
