/**
 * Notifications of inbox items. Stores each person's settings, and a row for each item, person and method,
 * from the time that it was found due until long after it was sent. Times are epoch milliseconds.
 */
import { createAsking, onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed } from '../../engine/resource.ts'
import { NOTIFICATION_SQL, type NotificationStatement } from './sql.ts'

export type NotificationMethod = 'webhook' | 'mail' | 'push'
export type NotificationSettings = {
  user_id: string
  org_id: string
  /** Sessions covered: the person's own, or, while they are an administrator, all of the organisation. */
  scope: 'own' | 'org'
  /** JSON: a list of inbox kinds. */
  kinds: string
  /** An item must be open for this long before a notification is sent. */
  after_ms: number
  webhook_url: string | null
  /** Encrypted by the caller. */
  webhook_secret: string | null
  /** Covers items from then on; null if the method is off. */
  webhook_since: number | null
  mail_address: string | null
  /** Like webhook_since; also null until the address is confirmed. */
  mail_since: number | null
  /** Encrypted by the caller; null if no confirmation is pending. */
  mail_code: string | null
  mail_code_until: number | null
  mail_tries: number
}

/**
 * due        waits for `next_at`
 * sending    written before the call; for a later holder of the lease, the outcome is unknown
 * withdrawn  the item was answered, or the person has unsubscribed
 * dead       all attempts have failed
 */
type NotificationState = 'due' | 'sending' | 'sent' | 'dead' | 'withdrawn'
export type InboxNotification = {
  /** The id that every attempt sends. */
  id: string
  user_id: string
  way: NotificationMethod
  /** An inbox item; or `test:…` or `code:…`, which a person requests. */
  about: string
  state: NotificationState
  attempts: number
  next_at: number
  created_at: number
  updated_at: number
  error: string | null
}
export type NewNotification = Pick<InboxNotification, 'user_id' | 'way'> & { item_id: string; due_at: number }

/** Name of the single lease for all notifications. */
export const NOTIFICATIONS = 'inbox-notifications'
export type NotificationResult = { state: NotificationState; next_at?: number; error?: string }

export type NotificationStore = {
  settings(userId: string): Promise<NotificationSettings | null>
  /** Creates the settings if needed. */
  putChoice(
    choice: Pick<NotificationSettings, 'user_id' | 'org_id' | 'scope' | 'kinds' | 'after_ms'>,
  ): Promise<void>
  /** Earlier items are not covered. Null turns the method off. */
  setWebhook(userId: string, webhook: { url: string; secret: string } | null): Promise<void>
  /** Inactive until confirmed. Null turns the method off. */
  setMail(userId: string, mail: { address: string; code: string; ttl_ms: number } | null): Promise<void>
  /** The pending encrypted code; null if there is none, or it was tried too often. */
  tryMailCode(userId: string, most: number): Promise<string | null>
  /** False if another code is pending. */
  confirmMail(userId: string, code: string): Promise<boolean>

  /** Open items without a planned notification, oldest first. */
  fresh(limit: number): Promise<NewNotification[]>
  /** Idempotent per person, method and item. */
  plan(notification: Pick<InboxNotification, 'id' | 'user_id' | 'way' | 'about' | 'next_at'>): Promise<void>
  due(limit: number): Promise<InboxNotification[]>
  /** Before the call. False if it was tried since it was read, is due later, or the lease was lost. */
  begin(notification: Pick<InboxNotification, 'id' | 'user_id' | 'attempts'>, epoch: number): Promise<boolean>
  settle(
    notification: Pick<InboxNotification, 'id' | 'user_id'>,
    settled: NotificationResult,
    epoch: number,
  ): Promise<boolean>
  /**
   * Makes a failed notification due again, starting with the first attempt. False if the person has no such
   * notification.
   */
  redo(id: string, userId: string): Promise<boolean>
  /** How many were sent within the time, and when the first of them. */
  sent(
    userId: string,
    way: NotificationMethod,
    withinMs: number,
  ): Promise<{ count: number; oldest: number | null }>
  /** Newest first. */
  list(userId: string, limit: number): Promise<InboxNotification[]>
  /** Deletes those in a final state that are not about an open item. */
  prune(olderThanMs: number): Promise<void>
}

function createNotificationStore(ask: AskNamed<NotificationStatement>, now: () => number): NotificationStore {
  const { all, one, act, did } = createAsking(ask)
  return {
    settings: userId => one('notificationSettings', userId),
    putChoice: ({ user_id, org_id, scope, kinds, after_ms }) =>
      act('putNotificationChoice', user_id, org_id, scope, kinds, after_ms),
    setWebhook: (userId, webhook) =>
      webhook === null
        ? act('setNotificationWebhook', userId, null, null, null)
        : act('setNotificationWebhook', userId, webhook.url, webhook.secret, now()),
    setMail: (userId, mail) =>
      mail === null
        ? act('setNotificationMail', userId, null, null, null)
        : act('setNotificationMail', userId, mail.address, mail.code, now() + mail.ttl_ms),
    async tryMailCode(userId, most) {
      const row = await one<{ mail_code: string }>('tryMailCode', userId, now(), most)
      return row?.mail_code ?? null
    },
    confirmMail: (userId, code) => did('confirmNotificationMail', userId, code, now()),

    fresh: limit => all('freshNotifications', now(), limit),
    plan: ({ id, user_id, way, about, next_at }) =>
      act('planNotification', id, user_id, way, about, next_at, now()),
    due: limit => all('dueNotifications', now(), limit),
    begin: ({ id, user_id, attempts }, epoch) =>
      did('beginNotification', id, user_id, NOTIFICATIONS, epoch, now(), attempts),
    settle: ({ id, user_id }, { state, next_at, error }, epoch) =>
      did(
        'settleNotification',
        id,
        user_id,
        NOTIFICATIONS,
        epoch,
        state,
        next_at ?? now(),
        error ?? null,
        now(),
      ),
    redo: (id, userId) => did('redoNotification', id, userId, now()),
    async sent(userId, way, withinMs) {
      const row = await one<{ count: number; oldest: number | null }>(
        'sentNotifications',
        userId,
        way,
        now() - withinMs,
      )
      return row ?? { count: 0, oldest: null }
    },
    list: (userId, limit) => all('notificationsOf', userId, limit),
    prune: olderThanMs => act('pruneNotifications', now() - olderThanMs),
  }
}

export const notifications = onBothStores<never, NotificationStore, NotificationStatement>(
  NOTIFICATION_SQL,
  {},
  createNotificationStore,
)
