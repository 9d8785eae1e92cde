/** How long to wait before the next attempt: full jitter, so that many do not come back together. */
const FIRST_MS = 1_000
const MOST_MS = 5 * 60_000

/** `random` in [0, 1). */
export const backoffMs = (attempts: number, random: number): number =>
  Math.ceil(random * Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(attempts, 20)))
