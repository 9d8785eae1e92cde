/**
 * Rules for the browser of a session: one at a time, each started once and ended once, controlled by one
 * person at a time, and returned before it ends. Rules over one log; part of `checkHistory`.
 */
import type { SessionEvent } from '@cairn/protocol'

/** Feed it the events of a log in order; it returns the violations of each. */
export function browserRules(): (event: SessionEvent) => string[] {
  const begun = new Set<string>()
  let live: string | null = null
  let driver: string | null = null

  const ofLive = (browser_id: string): string[] =>
    browser_id === live ? [] : [`it names browser ${browser_id}, but the browser is ${live ?? 'none'}`]

  return event => {
    switch (event.type) {
      case 'browser.provisioned': {
        const { browser_id } = event.data
        const found = [
          ...(live === null ? [] : [`the browser ${live} has not ended`]),
          ...(begun.has(browser_id) ? [`the browser ${browser_id} was already started`] : []),
        ]
        begun.add(browser_id)
        live = browser_id
        return found
      }
      case 'browser.control_granted': {
        const found = [
          ...ofLive(event.data.browser_id),
          ...(driver === null ? [] : [`${driver} controls it`]),
          ...(live === null ? ['the session has no browser'] : []),
        ]
        driver = event.data.owner_user_id
        return found
      }
      case 'browser.control_returned': {
        const found = [
          ...ofLive(event.data.browser_id),
          ...(driver === null ? ['no user controls it'] : []),
          ...(live === null ? ['the session has no browser'] : []),
        ]
        driver = null
        return found
      }
      case 'browser.destroyed': {
        const found = [
          ...ofLive(event.data.browser_id),
          ...(live === null ? ['the session has no browser'] : []),
          ...(driver === null ? [] : [`${driver} still controls it`]),
        ]
        live = null
        return found
      }
      default:
        return []
    }
  }
}
