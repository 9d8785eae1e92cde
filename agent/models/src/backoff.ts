/** Delay before a retry. Pure: the random number is an argument. */
export type Backoff = { baseMs: number; maxMs: number }

export const MODEL_BACKOFF: Backoff = { baseMs: 1000, maxMs: 60_000 }
/**
 * Maximum Retry-After that is honored: more than the backoff ceiling, but a session must not hang for hours.
 */
const MAX_RETRY_AFTER_MS = 5 * 60_000

/**
 * Exponential backoff with full jitter, between 0 and base·2^attempt, so that many runners do not return at
 * once. A server's Retry-After is a lower bound. `attempt` counts from 0, `random` is in [0, 1).
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
