/**
 * Budgets of visitors. A new visitor costs one request, so limits per visitor stop no one: these count an
 * address within an hour, and all visitors of a website within 24 hours. The counts are kept in this process
 * only, and use the monotonic clock.
 */
import type { LogStore } from '@cairn/log'
import { type ChannelConfig, tooManyRequests } from '@cairn/protocol'
import type { ChannelDeps, Connection } from '../deps.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const MB = 1_000_000
/** Maximum remembered addresses; beyond that the one with the oldest window is evicted. */
const ADDRESSES_MAX = 20_000
/** Conversations whose tokens are read per message: more than one, so that all are covered in time. */
const READ_AT_ONCE = 20

export type SiteLimits = Pick<Extract<ChannelConfig, { platform: 'website' }>, 'per_address_hour' | 'per_day'>
type Budgeted = { connection: Connection; limits: SiteLimits }
type Use = { visitors?: number; messages?: number; bytes?: number }
type Maxima = { visitors_max: number; messages_max: number; mb_max: number }

export type Budgets = {
  /** Counts the use. Throws AppError rate_limited, and counts nothing, where it exceeds a budget. */
  charge(site: Budgeted, address: string, use: Use): void
  /** Throws AppError rate_limited if the conversations of the website have used up its tokens. */
  checkTokens(site: Budgeted): Promise<void>
  /** Counts the tokens of this conversation from now on. */
  follow(site: Budgeted, sessionId: string): Promise<void>
}

type Window = {
  ends: number
  visitors: number
  messages: number
  bytes: number
  tokens: number
  isTold: boolean
}
/** Tokens of a conversation that have been counted. */
type Followed = Map<string, number>

export function createBudgets(
  { store, report }: Pick<ChannelDeps, 'report'> & { store: { sessions: Pick<LogStore['sessions'], 'get'> } },
  monotonic: () => number,
): Budgets {
  const hourOf = createWindows(HOUR_MS, monotonic)
  const dayOfKey = createWindows(DAY_MS, monotonic)
  const following = new Map<string, Followed>()
  const dayOf = ({ connection }: Budgeted): Window => dayOfKey(connection.id)
  const refusal = ({ ends }: Window, detail: string): Error =>
    tooManyRequests(detail, (ends - monotonic()) / 1000)

  /** Visitors learn that the limit is reached; the log names the budget, once. */
  function dayIsOver({ connection }: Budgeted, day: Window, what: string): Error {
    if (!day.isTold)
      report('warn', 'a website reached its budget for 24 hours', { connection: connection.name, what })
    day.isTold = true
    return refusal(day, 'This chat has reached its limit for today. Try again later.')
  }

  return {
    charge(site, address, use) {
      const { per_address_hour, per_day } = site.limits
      const hour = hourOf(`${site.connection.id}/${address}`)
      const day = dayOf(site)
      const over = exceeded(hour, use, per_address_hour)
      if (over !== null) throw refusal(hour, `${over} within an hour from one address. Try again later.`)
      const overToday = exceeded(day, use, per_day)
      if (overToday !== null) throw dayIsOver(site, day, overToday)
      for (const window of [hour, day]) {
        window.visitors += use.visitors ?? 0
        window.messages += use.messages ?? 0
        window.bytes += use.bytes ?? 0
      }
    },
    async checkTokens(site) {
      await readTokens(site)
      const day = dayOf(site)
      const { tokens_max } = site.limits.per_day
      if (day.tokens >= tokens_max) throw dayIsOver(site, day, `More than ${tokens_max} tokens`)
    },
    async follow({ connection }, sessionId) {
      const followed = followedOf(connection)
      if (!followed.has(sessionId)) followed.set(sessionId, await tokensOf(sessionId))
    },
  }

  function followedOf({ id }: Connection): Followed {
    const found = following.get(id) ?? new Map<string, number>()
    following.set(id, found)
    return found
  }

  /** Reads the conversations that were not read for the longest time. Idle ones are not read again. */
  async function readTokens(site: Budgeted): Promise<void> {
    const followed = followedOf(site.connection)
    for (const [id, counted] of [...followed].slice(0, READ_AT_ONCE)) {
      const session = await store.sessions.get(id)
      // Another request read it during the query.
      if (followed.get(id) !== counted) continue
      followed.delete(id)
      if (session === null) continue
      const total = session.input_tokens + session.output_tokens
      dayOf(site).tokens += total - counted
      if (session.lease !== null || session.wake_id > session.cursor) followed.set(id, total)
    }
  }

  async function tokensOf(sessionId: string): Promise<number> {
    const session = await store.sessions.get(sessionId)
    return session === null ? 0 : session.input_tokens + session.output_tokens
  }
}

/** The open window of a key. A window that has ended is replaced by an empty one. */
function createWindows(lengthMs: number, monotonic: () => number): (key: string) => Window {
  const windows = new Map<string, Window>()
  return key => {
    const found = windows.get(key)
    if (found !== undefined && found.ends > monotonic()) return found
    windows.delete(key)
    if (windows.size >= ADDRESSES_MAX) {
      const [oldest] = windows.keys()
      if (oldest !== undefined) windows.delete(oldest)
    }
    const fresh = {
      ends: monotonic() + lengthMs,
      visitors: 0,
      messages: 0,
      bytes: 0,
      tokens: 0,
      isTold: false,
    }
    windows.set(key, fresh)
    return fresh
  }
}

/** The budget that the use exceeds, in words; null: none. */
function exceeded(window: Window, use: Use, { visitors_max, messages_max, mb_max }: Maxima): string | null {
  const { visitors = 0, messages = 0, bytes = 0 } = use
  if (visitors > 0 && window.visitors + visitors > visitors_max)
    return `More than ${visitors_max} new visitors`
  if (messages > 0 && window.messages + messages > messages_max)
    return `More than ${messages_max} messages and files`
  if (bytes > 0 && window.bytes + bytes > mb_max * MB) return `More than ${mb_max} MB of messages and files`
  return null
}
