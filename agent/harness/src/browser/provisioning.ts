/** How the beginning of a browser comes into the log: with the result of one call, once. */
import type { BrowserInstance, Draft } from '@cairn/log'
import { browserDestroyed, browserProvisioned } from '@cairn/sessions'
import type { BrowsersOptions } from './browsers.ts'
import type { SessionBrowser } from './session-browser.ts'

/** A result lands within so long, or never. */
export const MAX_RECORDING_MS = 10_000

export type HeldBrowser = {
  browser: SessionBrowser
  /** Epoch milliseconds. */
  born: number
  /** The row of the one before, which its beginning ends; null: there was none. */
  replaces: BrowserInstance | null
  /** When a call took its beginning along, to be told with its result; null: none so far. */
  recordedAt: number | null
  /** Its row was there. Where it is there no more, another ended the browser, and it does not come back. */
  wasRecorded: boolean
}

/** Whether the row says what this worker has; it says nothing yet where no result recorded it so far. */
export function isStill(held: HeldBrowser, instance: BrowserInstance | null, now: number): boolean {
  const { browser, replaces, recordedAt } = held
  if (instance?.browser_id === browser.id) return (held.wasRecorded = true)
  if (held.wasRecorded || (recordedAt !== null && now - recordedAt > MAX_RECORDING_MS)) return false
  return instance === null || instance.browser_id === replaces?.browser_id
}

/** For the commit of a result; marks it as told. */
export function recordProvisioning(
  held: HeldBrowser,
  { runnerId, provider, version }: Pick<BrowsersOptions, 'runnerId' | 'provider' | 'version'>,
  now: number,
): readonly Draft[] {
  const { browser, replaces } = held
  held.recordedAt = now
  const isDead = replaces !== null && replaces.alive_until <= now
  return [
    ...(replaces === null ? [] : browserDestroyed(replaces, now, isDead ? 'lost' : 'moved')),
    browserProvisioned(browser.session_id, browser.id, runnerId, { provider, version }),
  ]
}
