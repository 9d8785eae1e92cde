/** Routes for a person's notification settings (contract 4.19). */
import { z } from 'zod'
import { emailAddress } from '../config/email.ts'
import { INBOX_KINDS } from '../resources/index.ts'
import type { Route } from './route.ts'

const NOTICE_WAYS = ['webhook', 'mail', 'push'] as const

const DAY_S = 24 * 60 * 60
const choice = {
  kinds: z.array(z.enum(INBOX_KINDS)).describe('kinds of items to notify about; none by default'),
  scope: z
    .enum(['own', 'org'])
    .describe('own: your sessions; org: every session of the organisation, for administrators only'),
  after_s: z
    .int()
    .min(0)
    .max(DAY_S)
    .describe('time for which an item must be open before a notification is sent'),
}

const NoticeView = z
  .object({
    id: z.string().describe('the webhook-id of every attempt, or part of the Message-ID'),
    way: z.enum(NOTICE_WAYS),
    item_id: z.string().nullable().describe('null: a test, or a confirmation code'),
    state: z
      .enum(['due', 'sending', 'sent', 'dead', 'withdrawn'])
      .describe('withdrawn: the item was answered first; dead: failed 8 times, or permanently rejected'),
    attempts: z.int(),
    error: z.string().nullable().describe('error of the last attempt'),
    created_at: z.string(),
    next_at: z.string().nullable().describe('time of the next attempt'),
  })
  .meta({ id: 'Notice' })

const NoticeSettingsView = z
  .object({
    ...choice,
    webhook: z.object({ url: z.string() }).nullable(),
    mail: z.object({ address: z.string(), confirmed: z.boolean() }).nullable(),
    push: z
      .array(
        z.object({
          id: z.string().describe('the first 32 hexadecimal digits of the SHA-256 of the endpoint'),
          created_at: z.string(),
        }),
      )
      .describe('browsers that receive Web Push'),
    offers: z
      .object({ webhook: z.boolean(), mail: z.boolean(), push: z.boolean() })
      .describe('methods that this server supports'),
    recent: z.array(NoticeView).describe('the newest notifications'),
  })
  .meta({ id: 'NoticeSettings' })

const route = { access: 'user', alias: false } as const

export const NOTIFICATION_ROUTES = {
  getNotices: {
    ...route,
    method: 'GET',
    path: '/notices',
    summary: 'Get your notification settings and the newest notifications',
    status: 200,
    answer: NoticeSettingsView,
  },
  chooseNotices: {
    ...route,
    method: 'PATCH',
    path: '/notices',
    summary: 'Choose the items to be notified about, and the delay',
    body: z.strictObject(choice).partial(),
    status: 200,
    answer: NoticeSettingsView,
  },
  setNoticeWebhook: {
    ...route,
    method: 'POST',
    path: '/notices/webhook',
    errors: ['wrong_state'],
    summary: 'Set a webhook for notifications, signed as in Standard Webhooks; its new secret is shown once',
    creates: true,
    shownOnce: ['secret'],
    body: z.strictObject({ url: z.url({ protocol: /^https?$/ }).max(2000) }),
    status: 201,
    answer: z.object({ url: z.string(), secret: z.string() }),
  },
  endNoticeWebhook: {
    ...route,
    method: 'DELETE',
    path: '/notices/webhook',
    summary: 'Remove the webhook',
    status: 204,
  },
  setNoticeMail: {
    ...route,
    method: 'POST',
    path: '/notices/mail',
    errors: ['wrong_state'],
    summary: 'Set an email address for notifications; a code that is sent there must be confirmed first',
    body: z.strictObject({ address: emailAddress }),
    status: 202,
    answer: NoticeSettingsView,
  },
  confirmNoticeMail: {
    ...route,
    method: 'POST',
    path: '/notices/mail/confirm',
    errors: ['wrong_state'],
    summary: 'Confirm the email address with the code: at most five attempts within one hour',
    body: z.strictObject({ code: z.string().max(20) }),
    status: 200,
    answer: NoticeSettingsView,
  },
  endNoticeMail: {
    ...route,
    method: 'DELETE',
    path: '/notices/mail',
    summary: 'Remove the email address',
    status: 204,
  },
  getPushKey: {
    ...route,
    method: 'GET',
    path: '/notices/push/key',
    errors: ['wrong_state'],
    summary: 'Get the public key (VAPID) with which a browser subscribes to Web Push',
    status: 200,
    answer: z.object({ public_key: z.string().describe('base64url') }),
  },
  subscribePush: {
    ...route,
    method: 'POST',
    path: '/notices/push',
    errors: ['wrong_state', 'limit_reached'],
    summary: 'Turn on Web Push for a browser: questions, approvals and actions of your own sessions',
    body: z.strictObject({
      endpoint: z.url({ protocol: /^https?$/ }).max(2000),
      keys: z.strictObject({
        p256dh: z.string().regex(/^[\w-]{87}=?$/, 'must be a P-256 public key in base64url'),
        auth: z.string().regex(/^[\w-]{22}(?:==)?$/, 'must be 16 bytes in base64url'),
      }),
    }),
    status: 200,
    answer: NoticeSettingsView,
  },
  unsubscribePush: {
    ...route,
    method: 'DELETE',
    path: '/notices/push/{browser_id}',
    summary: 'Turn off Web Push for a browser',
    status: 204,
  },
  testNotice: {
    ...route,
    method: 'POST',
    path: '/notices/test',
    errors: ['wrong_state'],
    summary: 'Send a test notification; GET /v1/notices reports the result',
    body: z.strictObject({ way: z.enum(NOTICE_WAYS) }),
    status: 202,
    answer: NoticeSettingsView,
  },
  resendNotice: {
    ...route,
    method: 'POST',
    path: '/notices/{notice_id}/resend',
    errors: ['not_found', 'wrong_state'],
    summary: 'Retry a failed notification under the same id',
    status: 202,
    answer: NoticeSettingsView,
  },
} as const satisfies Record<string, Route>
