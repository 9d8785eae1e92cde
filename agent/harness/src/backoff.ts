/** How long to wait before trying again. Pure: the random number is an argument. */
export type Backoff = { baseMs: number; maxMs: number }

export const MODEL_BACKOFF: Backoff = { baseMs: 1000, maxMs: 60_000 }
export const CRASH_BACKOFF: Backoff = { baseMs: 500, maxMs: 10_000 }
/** A server may ask for more patience than the ceiling, but not for a session to hang for hours. */
const MAX_RETRY_AFTER_MS = 5 * 60_000

/**
 * Exponential with full jitter: anywhere between nothing and base·2^attempt, so that many workers do not
 * return as one. A server's own wish (Retry-After) is a floor. `attempt` counts from 0, `random` is in [0,
 * 1).
 */
export function backoffMs(
  { baseMs, maxMs }: Backoff,
  attempt: number,
  random: number,
  wishMs: number | null = null,
): number {
  const jittered = Math.floor(random * Math.min(maxMs, baseMs * 2 ** attempt))
  return wishMs === null ? jittered : Math.max(jittered, Math.min(wishMs, MAX_RETRY_AFTER_MS))
}
