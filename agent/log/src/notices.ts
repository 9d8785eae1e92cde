/**
 * Notices: what waits in the inbox, told to a person who looks elsewhere. A person's choice, and a row for
 * each item, person and way from the moment somebody has seen that it is due until long after it was sent.
 * Times are epoch milliseconds.
 */
import type { ChannelValue } from './ask-channel.ts'
import type { NoticeStatement } from './notice-sql.ts'

export type NoticeWay = 'webhook' | 'mail'
export type NoticeSettings = {
  user_id: string
  org_id: string
  /** Whose sessions: the person's, or, while they are an administrator, all of the organisation. */
  scope: 'own' | 'org'
  /** JSON: a list of kinds of items. */
  kinds: string
  /** An item must be open for so long before it is told. */
  after_ms: number
  webhook_url: string | null
  /** Sealed by the caller. */
  webhook_secret: string | null
  /** Items from then on; null: by this way nothing is told. */
  webhook_since: number | null
  mail_address: string | null
  /** As the webhook's; null too until the address is confirmed. */
  mail_since: number | null
  /** Sealed by the caller; null: nothing waits to be confirmed. */
  mail_code: string | null
  mail_code_until: number | null
  mail_tries: number
}

/**
 * due        waits for `next_at`
 * sending    written before the call; found so by a later holder, nobody knows whether it was taken
 * withdrawn  what it is about was answered, or the person wants it no more
 * dead       tried as often as it may be
 */
type NoticeState = 'due' | 'sending' | 'sent' | 'dead' | 'withdrawn'
export type Notice = {
  /** The key of every attempt. */
  id: string
  user_id: string
  way: NoticeWay
  /** An inbox item; or `test:…`, `code:…`, which only a person asks for. */
  about: string
  state: NoticeState
  attempts: number
  next_at: number
  created_at: number
  updated_at: number
  error: string | null
}
export type FreshNotice = Pick<Notice, 'user_id' | 'way'> & { item_id: string; due_at: number }

/** Of the one lease of all notices. */
export const NOTICES = 'inbox-notices'
export type NoticeSettled = { state: NoticeState; next_at?: number; error?: string }

export type NoticeStore = {
  settings(userId: string): Promise<NoticeSettings | null>
  /** Makes the settings where there are none. */
  putChoice(
    choice: Pick<NoticeSettings, 'user_id' | 'org_id' | 'scope' | 'kinds' | 'after_ms'>,
  ): Promise<void>
  /** What was raised before is not told. Null ends it. */
  setWebhook(userId: string, webhook: { url: string; secret: string } | null): Promise<void>
  /** Tells nothing until it is confirmed. Null ends it. */
  setMail(userId: string, mail: { address: string; code: string; ttl_ms: number } | null): Promise<void>
  /** The sealed code that waits; null: there is none, or it was tried too often. */
  tryMailCode(userId: string, most: number): Promise<string | null>
  /** False: another code waits by now. */
  confirmMail(userId: string, code: string): Promise<boolean>

  /** Open items that nobody has planned a notice for, oldest first. */
  fresh(limit: number): Promise<FreshNotice[]>
  /** The same person, way and item once. */
  plan(notice: Pick<Notice, 'id' | 'user_id' | 'way' | 'about' | 'next_at'>): Promise<void>
  due(limit: number): Promise<Notice[]>
  /** Before the call. False: it was tried since it was read, its time is later, or the lease is another's. */
  begin(notice: Pick<Notice, 'id' | 'attempts'>, epoch: number): Promise<boolean>
  settle(id: string, settled: NoticeSettled, epoch: number): Promise<boolean>
  /** One that was given up is due again, from its first attempt. False: the person has no such notice. */
  redo(id: string, userId: string): Promise<boolean>
  /** How many were sent within the time, and when the first of them. */
  sent(userId: string, way: NoticeWay, withinMs: number): Promise<{ count: number; oldest: number | null }>
  /** Newest first. */
  list(userId: string, limit: number): Promise<Notice[]>
  /** What is over, and about nothing that is open. */
  prune(olderThanMs: number): Promise<void>
}

type Ask = (name: NoticeStatement, values: readonly ChannelValue[]) => Promise<Record<string, unknown>[]>

/** `ask` runs a statement by its name. */
export function createNoticeStore(ask: Ask, now: () => number): NoticeStore {
  const all = async <T>(name: NoticeStatement, ...values: ChannelValue[]): Promise<T[]> =>
    (await ask(name, values)).map(row => ({ ...row }) as T)
  const one = async <T>(name: NoticeStatement, ...values: ChannelValue[]): Promise<T | null> =>
    (await all<T>(name, ...values))[0] ?? null
  const act = async (name: NoticeStatement, ...values: ChannelValue[]): Promise<void> =>
    void (await ask(name, values))
  const did = async (name: NoticeStatement, ...values: ChannelValue[]): Promise<boolean> =>
    (await ask(name, values)).length > 0
  return {
    settings: userId => one('noticeSettings', userId),
    putChoice: ({ user_id, org_id, scope, kinds, after_ms }) =>
      act('putNoticeChoice', user_id, org_id, scope, kinds, after_ms),
    setWebhook: (userId, webhook) =>
      webhook === null
        ? act('setNoticeWebhook', userId, null, null, null)
        : act('setNoticeWebhook', userId, webhook.url, webhook.secret, now()),
    setMail: (userId, mail) =>
      mail === null
        ? act('setNoticeMail', userId, null, null, null)
        : act('setNoticeMail', userId, mail.address, mail.code, now() + mail.ttl_ms),
    async tryMailCode(userId, most) {
      const row = await one<{ mail_code: string }>('tryMailCode', userId, now(), most)
      return row?.mail_code ?? null
    },
    confirmMail: (userId, code) => did('confirmNoticeMail', userId, code, now()),

    fresh: limit => all('freshNotices', now(), limit),
    plan: ({ id, user_id, way, about, next_at }) =>
      act('planInboxNotice', id, user_id, way, about, next_at, now()),
    due: limit => all('dueInboxNotices', now(), limit),
    begin: ({ id, attempts }, epoch) => did('beginNotice', id, NOTICES, epoch, now(), attempts),
    settle: (id, { state, next_at, error }, epoch) =>
      did('settleNotice', id, NOTICES, epoch, state, next_at ?? now(), error ?? null, now()),
    redo: (id, userId) => did('redoNotice', id, userId, now()),
    async sent(userId, way, withinMs) {
      const row = await one<{ count: number; oldest: number | null }>(
        'sentNotices',
        userId,
        way,
        now() - withinMs,
      )
      return row ?? { count: 0, oldest: null }
    },
    list: (userId, limit) => all('noticesOf', userId, limit),
    prune: olderThanMs => act('pruneNotices', now() - olderThanMs),
  }
}
