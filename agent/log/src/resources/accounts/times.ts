/** How long the answer to an Idempotency-Key is stored (contract 4). */
export const IDEMPOTENCY_MS = 24 * 3600 * 1000
/** The last use of a service account is updated at most this often: it only informs people. */
export const TOUCH_MS = 60_000
/** Longer than any request: a claim on an idempotency key that is older belongs to a request that died. */
export const IDEMPOTENCY_HOLD_MS = 60_000
