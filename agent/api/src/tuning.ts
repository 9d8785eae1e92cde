/** Intervals and timeouts of connections and streams. */
export type Tuning = {
  /** An idle stream gets a comment after this time. */
  heartbeatMs: number
  /** A reader above the limit of unsent bytes is disconnected after this time without progress. */
  stallMs: number
  /** How often streams are checked for both. */
  tickMs: number
  /** Timeouts for the headers of a request, and for all of it. */
  headersMs: number
  requestMs: number
  /** How often connections are checked for both. */
  lookMs: number
  /**
   * A connection whose client does not read the response ends after this time; streams have their own rules.
   */
  idleMs: number
  /** How often the credentials of open streams and live views are checked, for changes by other processes. */
  standingMs: number
  /** Ping interval of a live view; it ends if the last ping was not answered. */
  pingMs: number
}
export const TUNING: Tuning = {
  heartbeatMs: 10_000,
  stallMs: 2_000,
  tickMs: 1_000,
  headersMs: 30_000,
  requestMs: 120_000,
  lookMs: 10_000,
  idleMs: 120_000,
  standingMs: 5_000,
  pingMs: 20_000,
}
