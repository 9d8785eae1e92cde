/** How long the answer to an Idempotency-Key is kept (contract 4). */
export const IDEMPOTENCY_MS = 24 * 3600 * 1000
/** A service account's last use is written at most this often: it informs people and decides nothing. */
export const TOUCH_MS = 60_000
/** No request takes so long: who still holds an idempotency key after it is gone. */
export const IDEMPOTENCY_HOLD_MS = 60_000
