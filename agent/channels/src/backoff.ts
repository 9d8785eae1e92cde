/** Delay before the next attempt, with full jitter so that retries spread out. */
const FIRST_MS = 1_000
const MAX_MS = 5 * 60_000

/** `random` is in [0, 1). */
export const backoffMs = (attempts: number, random: number): number =>
  Math.ceil(random * Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempts, 20)))
