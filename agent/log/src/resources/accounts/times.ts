/** The last use of a service account is updated at most this often: it only informs people. */
export const TOUCH_MS = 60_000
