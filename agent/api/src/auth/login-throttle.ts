/**
 * Slows password guessing in two ways. Per email and address: after five failures the delay doubles with each
 * attempt, up to a quarter of an hour. Per address: a budget of failures that refills slowly, so that trying
 * one password with many emails is slowed as well.
 *
 * Many people may share an address, above all behind a proxy that the configuration does not list: emails
 * that have logged in from it before are exempt from the budget that others exhaust.
 */
import { networkOf } from '../client-address.ts'

const FREE_FAILURES = 5
const BASE_MS = 2_000
const MAX_MS = 15 * 60 * 1000
const FORGET_MS = 60 * 60 * 1000
/** Failure budget of an address, and the time in which one failure refills. */
const ADDRESS_FAILURES = 30
const ADDRESS_REFILL_MS = 10_000
/** Bounds memory: an attacker may use any number of addresses. */
const CAPACITY = 50_000

export type LoginThrottle = {
  /** Milliseconds until the next attempt is allowed; 0 if now. */
  waitMs(email: string, ip: string): number
  /**
   * Counts an attempt as a failure. Call it before the slow check, so that parallel attempts are limited too.
   */
  failed(email: string, ip: string): void
  /** Undoes `failed` for an attempt whose password was not checked. */
  takeBack(email: string, ip: string): void
  succeeded(email: string, ip: string): void
  /** True if this email has logged in from this address before. */
  isKnown(email: string, ip: string): boolean
}

const keyOf = (email: string, ip: string): string => `${email.trim().toLowerCase()}\n${networkOf(ip)}`

/** Inserts into a map that evicts its oldest entry. */
function put<V>(entries: Map<string, V>, key: string, value: V): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size > CAPACITY) entries.delete(entries.keys().next().value as string)
}

export function createLoginThrottle(monotonic: () => number): LoginThrottle {
  const pairs = new Map<string, { failures: number; last: number }>()
  const known = new Map<string, true>()
  /** Remaining failures of an address at a moment. */
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
