/**
 * Slows guessing, in two ways. Of one e-mail from one address: after five failures each further try waits
 * twice as long, up to a quarter of an hour. Of any e-mail from one address: a budget of failures that fills
 * up slowly, so that trying one password with many e-mails is slowed as well.
 *
 * Many people may share an address, behind a proxy that the configuration does not name above all: whoever
 * has logged in from it before is not held up by the failures of the others.
 */
import { networkOf } from '../client-address.ts'

const FREE_FAILURES = 5
const BASE_MS = 2_000
const MAX_MS = 15 * 60 * 1000
const FORGET_MS = 60 * 60 * 1000
/** Failures of one address: so many at once, and one more every so often. */
const ADDRESS_FAILURES = 30
const ADDRESS_REFILL_MS = 10_000
/** An attacker must not fill the memory with addresses. */
const CAPACITY = 50_000

export type LoginThrottle = {
  /** Milliseconds until the next try is let through; 0 now. */
  waitMs(email: string, ip: string): number
  /** Counts a try as a failure; before the slow check, so that of many at once only a few get one. */
  failed(email: string, ip: string): void
  /** It was not looked at after all. */
  takeBack(email: string, ip: string): void
  succeeded(email: string, ip: string): void
  /** Somebody logged in with this e-mail from this address before. */
  isKnown(email: string, ip: string): boolean
}

const keyOf = (email: string, ip: string): string => `${email.trim().toLowerCase()}\n${networkOf(ip)}`

/** A map that forgets what was put into it longest ago. */
function put<V>(entries: Map<string, V>, key: string, value: V): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size > CAPACITY) entries.delete(entries.keys().next().value as string)
}

export function createLoginThrottle(monotonic: () => number): LoginThrottle {
  const pairs = new Map<string, { failures: number; last: number }>()
  const known = new Map<string, true>()
  /** Failures that an address has left, as of a moment. */
  const budgets = new Map<string, { left: number; at: number }>()

  function budgetOf(ip: string): number {
    const budget = budgets.get(networkOf(ip))
    if (budget === undefined) return ADDRESS_FAILURES
    return Math.min(ADDRESS_FAILURES, budget.left + (monotonic() - budget.at) / ADDRESS_REFILL_MS)
  }
  const spend = (ip: string, failures: number): void =>
    put(budgets, networkOf(ip), {
      left: Math.min(ADDRESS_FAILURES, budgetOf(ip) - failures),
      at: monotonic(),
    })

  return {
    waitMs(email, ip) {
      const key = keyOf(email, ip)
      const pair = pairs.get(key)
      const left = known.has(key) ? ADDRESS_FAILURES : budgetOf(ip)
      const ofPair =
        pair === undefined || pair.failures < FREE_FAILURES
          ? 0
          : pair.last + Math.min(MAX_MS, BASE_MS * 2 ** (pair.failures - FREE_FAILURES)) - monotonic()
      return Math.max(0, ofPair, (1 - left) * ADDRESS_REFILL_MS)
    },
    failed(email, ip) {
      const key = keyOf(email, ip)
      const pair = pairs.get(key)
      const isFresh = pair !== undefined && monotonic() - pair.last < FORGET_MS
      put(pairs, key, { failures: isFresh ? pair.failures + 1 : 1, last: monotonic() })
      spend(ip, 1)
    },
    takeBack(email, ip) {
      const pair = pairs.get(keyOf(email, ip))
      if (pair !== undefined) pair.failures--
      spend(ip, -1)
    },
    succeeded(email, ip) {
      const key = keyOf(email, ip)
      pairs.delete(key)
      put(known, key, true)
      spend(ip, -1)
    },
    isKnown: (email, ip) => known.has(keyOf(email, ip)),
  }
}
