/**
 * Slows guessing: after five failures for one e-mail from one address each further try waits twice as long,
 * up to a quarter of an hour.
 */
const FREE_FAILURES = 5
const BASE_MS = 2_000
const MAX_MS = 15 * 60 * 1000
const FORGET_MS = 60 * 60 * 1000
/** An attacker must not fill the memory with addresses. */
const CAPACITY = 50_000

export type LoginThrottle = {
  /** Milliseconds until the next try is let through; 0 now. */
  waitMs(email: string, ip: string): number
  failed(email: string, ip: string): void
  succeeded(email: string, ip: string): void
}

const keyOf = (email: string, ip: string): string => `${email.trim().toLowerCase()}\n${ip}`

export function createLoginThrottle(monotonic: () => number): LoginThrottle {
  const entries = new Map<string, { failures: number; last: number }>()
  return {
    waitMs(email, ip) {
      const entry = entries.get(keyOf(email, ip))
      if (entry === undefined || entry.failures < FREE_FAILURES) return 0
      const wait = Math.min(MAX_MS, BASE_MS * 2 ** (entry.failures - FREE_FAILURES))
      return Math.max(0, entry.last + wait - monotonic())
    },
    failed(email, ip) {
      const key = keyOf(email, ip)
      const entry = entries.get(key)
      const isFresh = entry !== undefined && monotonic() - entry.last < FORGET_MS
      entries.delete(key)
      entries.set(key, { failures: isFresh ? entry.failures + 1 : 1, last: monotonic() })
      if (entries.size > CAPACITY) entries.delete(entries.keys().next().value as string)
    },
    succeeded(email, ip) {
      entries.delete(keyOf(email, ip))
    },
  }
}
