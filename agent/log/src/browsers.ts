/**
 * Browsers of sessions: which worker has the browser of a session, and who drives it. A session has one at
 * most. The row is there for guards; what happened is in the log.
 */
import type { BrowserStatement } from './browser-sql.ts'
import type { ChannelValue } from './ask-channel.ts'
import { Refusing } from './commit-rules.ts'
import type { StoredSession } from './session-rows.ts'

export type BrowserInstance = {
  session_id: string
  browser_id: string
  worker_id: string
  /** The worker says so again and again; a browser that is silent for longer died with its worker. */
  alive_until: number
  created_at: number
  /** The person who drives it; null: the agent. Times are epoch milliseconds. */
  holder: { user_id: string; since: number; until: number } | null
}

export type BrowserChange =
  /** Guard and change: refused with `browser_moved` where the session has a browser. */
  | { do: 'browser.open'; browser_id: string; worker_id: string; alive_ms: number }
  /** Guard and change: refused with `control_held` unless `from` (null: nobody) drives this browser. */
  | { do: 'browser.control'; browser_id: string; from: string | null; to: string | null; hold_ms: number }
  /** Guard and change: refused with `browser_moved` unless this browser is there and `holder` drives it. */
  | { do: 'browser.close'; browser_id: string; holder: string | null }

export type BrowserStore = {
  browser(sessionId: string): Promise<BrowserInstance | null>
  /** Those whose workers have said nothing for too long. */
  silent(): Promise<BrowserInstance[]>
  renew(workerId: string, aliveMs: number): Promise<void>
  /** False: this user drives it no more. */
  extendControl(sessionId: string, browserId: string, userId: string, holdMs: number): Promise<boolean>
  /** Sealed by the caller; kept beyond the browser. */
  keepState(sessionId: string, sealed: string, keepMs: number): Promise<void>
  state(sessionId: string): Promise<string | null>
}

/** The guard of a change as one statement that touches a row, or refuses. */
export function guardOfBrowser(
  row: StoredSession,
  at: number,
  change: BrowserChange,
): { name: BrowserStatement; values: ChannelValue[]; refusing: () => Refusing } {
  const { browser_id } = change
  switch (change.do) {
    case 'browser.open':
      return {
        name: 'openBrowser',
        values: [row.id, browser_id, change.worker_id, at + change.alive_ms, at],
        refusing: () => new Refusing('browser_moved', `[commit] session ${row.id} has a browser`, row),
      }
    case 'browser.control': {
      const held = change.to === null ? [null, null] : [at, at + change.hold_ms]
      return {
        name: 'controlBrowser',
        values: [row.id, browser_id, change.from ?? '', change.to ?? '', ...held],
        refusing: () =>
          new Refusing('control_held', `[commit] another drives the browser of session ${row.id}`, row),
      }
    }
    case 'browser.close':
      return {
        name: 'closeBrowser',
        values: [row.id, browser_id, change.holder ?? ''],
        refusing: () =>
          new Refusing('browser_moved', `[commit] browser ${browser_id} is gone, or another drives it`, row),
      }
  }
}

type Ask = (name: BrowserStatement, values: readonly ChannelValue[]) => Promise<Record<string, unknown>[]>

const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value))

function toInstance(row: Record<string, unknown>): BrowserInstance {
  const since = numberOrNull(row['held_since'])
  const until = numberOrNull(row['control_until'])
  const user_id = row['holder_user_id']
  return {
    session_id: String(row['session_id']),
    browser_id: String(row['browser_id']),
    worker_id: String(row['worker_id']),
    alive_until: Number(row['alive_until']),
    created_at: Number(row['created_at']),
    holder:
      typeof user_id === 'string' && since !== null && until !== null ? { user_id, since, until } : null,
  }
}

/** `ask` runs a statement by its name. */
export const createBrowserStore = (ask: Ask, now: () => number): BrowserStore => ({
  async browser(sessionId) {
    const [row] = await ask('browser', [sessionId])
    return row === undefined ? null : toInstance(row)
  },
  silent: async () => (await ask('silentBrowsers', [now()])).map(toInstance),
  async renew(workerId, aliveMs) {
    await ask('renewBrowsers', [workerId, now() + aliveMs])
  },
  extendControl: async (sessionId, browserId, userId, holdMs) =>
    (await ask('extendControl', [sessionId, browserId, userId, now() + holdMs])).length > 0,
  async keepState(sessionId, sealed, keepMs) {
    await ask('keepBrowserState', [sessionId, sealed, now() + keepMs])
  },
  async state(sessionId) {
    const [row] = await ask('browserState', [sessionId, now()])
    const sealed = row?.['sealed_state']
    return typeof sealed === 'string' ? sealed : null
  },
})
