/** How the start of a browser is logged: with the result of one call, once. */
import type { BrowserInstance, EventWithRows } from '@cairn/log'
import { browserDestroyed, browserProvisioned } from '@cairn/sessions'
import type { BrowsersOptions } from './browsers.ts'
import type { SessionBrowser } from './session-browser.ts'

/** Maximum time for a result to be committed; after that it never will be. */
export const MAX_RECORDING_MS = 10_000

export type HeldBrowser = {
  browser: SessionBrowser
  /** Epoch milliseconds. */
  born: number
  /** The row of the previous browser, which this start ends; null: none. */
  replaces: BrowserInstance | null
  /** When a call took the start event along to log it with its result; null: not yet. */
  recordedAt: number | null
  /** The row existed. If it is missing now, another process ended the browser, and it does not return. */
  wasRecorded: boolean
}

/**
 * Whether the row matches this runner's browser. Before the first recorded result, the row may not exist yet.
 */
export function isStill(held: HeldBrowser, instance: BrowserInstance | null, now: number): boolean {
  const { browser, replaces, recordedAt } = held
  if (instance?.browser_id === browser.id) return (held.wasRecorded = true)
  if (held.wasRecorded || (recordedAt !== null && now - recordedAt > MAX_RECORDING_MS)) return false
  return instance === null || instance.browser_id === replaces?.browser_id
}

/** The start event for the commit of a result; marks it as logged. */
export function recordProvisioning(
  held: HeldBrowser,
  { runnerId, provider, version }: Pick<BrowsersOptions, 'runnerId' | 'provider' | 'version'>,
  now: number,
): readonly EventWithRows[] {
  const { browser, replaces } = held
  held.recordedAt = now
  const isDead = replaces !== null && replaces.alive_until <= now
  return [
    ...(replaces === null ? [] : browserDestroyed(replaces, now, isDead ? 'lost' : 'moved')),
    browserProvisioned(browser.session_id, browser.id, runnerId, { provider, version }),
  ]
}
