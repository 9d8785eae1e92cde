/**
 * Browsers of sessions: which runner has a session's browser, and who controls it. A session has at most one.
 * The rows exist for guards; the log has the history.
 */
import { Refusing } from '../../engine/refusing.ts'
import { onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed, Resource } from '../../engine/resource.ts'
import { BROWSER_SQL, type BrowserStatement } from './sql.ts'

export type BrowserInstance = {
  session_id: string
  browser_id: string
  worker_id: string
  /** Renewed by the runner's heartbeat; a browser past this time died with its runner. */
  alive_until: number
  created_at: number
  /** The person in control; null: the agent. Times are epoch milliseconds. */
  holder: { user_id: string; since: number; until: number } | null
}

export type BrowserChange =
  /** Guard and change: rejected with `browser_moved` if the session has a browser. */
  | { do: 'browser.open'; browser_id: string; worker_id: string; alive_ms: number }
  /** Guard and change: rejected with `control_held` unless `from` (null: the agent) controls this browser. */
  | { do: 'browser.control'; browser_id: string; from: string | null; to: string | null; hold_ms: number }
  /** Guard and change: rejected with `browser_moved` unless this browser exists and `holder` controls it. */
  | { do: 'browser.close'; browser_id: string; holder: string | null }

export type BrowserStore = {
  browser(sessionId: string): Promise<BrowserInstance | null>
  /** Browsers whose runners have missed their heartbeats. */
  silent(): Promise<BrowserInstance[]>
  renew(runnerId: string, aliveMs: number): Promise<void>
  /** False if this user no longer has control. */
  extendControl(sessionId: string, browserId: string, userId: string, holdMs: number): Promise<boolean>
  /** Encrypted by the caller; kept after the browser has ended. */
  keepState(sessionId: string, sealed: string, keepMs: number): Promise<void>
  state(sessionId: string): Promise<string | null>
}

export const browserChanges: Resource<BrowserChange, BrowserStore>['changes'] = {
  'browser.open': {},
  'browser.control': {},
  'browser.close': {},
}

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

const createBrowserStore = (ask: AskNamed<BrowserStatement>, now: () => number): BrowserStore => ({
  async browser(sessionId) {
    const [row] = await ask('browser', [sessionId])
    return row === undefined ? null : toInstance(row)
  },
  silent: async () => (await ask('silentBrowsers', [now()])).map(toInstance),
  async renew(runnerId, aliveMs) {
    await ask('renewBrowsers', [runnerId, now() + aliveMs])
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

export const browsers = onBothStores<BrowserChange, BrowserStore, BrowserStatement>(
  BROWSER_SQL,
  {
    'browser.open': ({ browser_id, worker_id, alive_ms }, { row, at }) => ({
      name: 'openBrowser',
      values: [row.id, browser_id, worker_id, at + alive_ms, at],
      refusing: () => new Refusing('browser_moved', `[commit] session ${row.id} has a browser`, row),
    }),
    'browser.control'({ browser_id, from, to, hold_ms }, { row, at }) {
      const held = to === null ? [null, null] : [at, at + hold_ms]
      return {
        name: 'controlBrowser',
        values: [row.id, browser_id, from ?? '', to ?? '', ...held],
        refusing: () =>
          new Refusing('control_held', `[commit] session ${row.id}: another user controls the browser`, row),
      }
    },
    'browser.close': ({ browser_id, holder }, { row }) => ({
      name: 'closeBrowser',
      values: [row.id, browser_id, holder ?? ''],
      refusing: () =>
        new Refusing('browser_moved', `[commit] browser ${browser_id} ended or has another user`, row),
    }),
  },
  createBrowserStore,
)
