/** Delays between connection attempts. */

export type Backoff = {
  /** Delay before the first attempt; the server's `retry:` overrides it. Milliseconds. */
  baseMs: number
  maxMs: number
}

/**
 * The delay doubles with each unsuccessful attempt and is drawn from its upper half, so that a server's
 * clients spread out.
 */
export function backoffMs(attempt: number, { baseMs, maxMs }: Backoff, random: number): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30))
  return full * (0.5 + random / 2)
}
