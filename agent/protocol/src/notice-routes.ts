/** Routes for a person's notification settings (contract 4.19). */
import { z } from 'zod'
import { mailAddress } from './email-config.ts'
import { INBOX_KINDS } from './resources.ts'
import type { Route } from './routes.ts'

const NOTICE_WAYS = ['webhook', 'mail'] as const

const DAY_S = 24 * 60 * 60
const choice = {
  kinds: z.array(z.enum(INBOX_KINDS)).describe('of which items; none by default'),
  scope: z
    .enum(['own', 'org'])
    .describe('org: of every session of the organisation, for an administrator; else the own ones'),
  after_s: z.int().min(0).max(DAY_S).describe('an item must be open for so long before it is told'),
}

const NoticeView = z
  .object({
    id: z.string().describe('webhook-id of every attempt, or part of the Message-ID'),
    way: z.enum(NOTICE_WAYS),
    item_id: z.string().nullable().describe('null: a test, or the code for an address'),
    state: z
      .enum(['due', 'sending', 'sent', 'dead', 'withdrawn'])
      .describe('withdrawn: answered before it was sent; dead: tried 8 times, or refused for good'),
    attempts: z.int(),
    error: z.string().nullable().describe('of the last attempt'),
    created_at: z.string(),
    next_at: z.string().nullable().describe('when it is tried next'),
  })
  .meta({ id: 'Notice' })

const NoticeSettingsView = z
  .object({
    ...choice,
    webhook: z.object({ url: z.string() }).nullable(),
    mail: z.object({ address: z.string(), confirmed: z.boolean() }).nullable(),
    offers: z.object({ webhook: z.boolean(), mail: z.boolean() }).describe('what this server sends'),
    recent: z.array(NoticeView).describe('the newest ones'),
  })
  .meta({ id: 'NoticeSettings' })

const route = { access: 'user', alias: false } as const

export const NOTICE_ROUTES = {
  getNotices: {
    ...route,
    method: 'GET',
    path: '/notices',
    summary: 'How you are told what waits in your inbox, and what became of the newest notices',
    status: 200,
    answer: NoticeSettingsView,
  },
  chooseNotices: {
    ...route,
    method: 'PATCH',
    path: '/notices',
    summary: 'Choose of which items you are told, and after what time',
    body: z.strictObject(choice).partial(),
    status: 200,
    answer: NoticeSettingsView,
  },
  setNoticeWebhook: {
    ...route,
    method: 'POST',
    path: '/notices/webhook',
    errors: ['wrong_state'],
    summary: 'Have a webhook called, signed as Standard Webhooks say; its new secret is shown once',
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
    summary: 'Have it called no more',
    status: 204,
  },
  setNoticeMail: {
    ...route,
    method: 'POST',
    path: '/notices/mail',
    errors: ['wrong_state'],
    summary: 'Have mails sent to an address, once the code that is sent there is confirmed',
    body: z.strictObject({ address: mailAddress }),
    status: 202,
    answer: NoticeSettingsView,
  },
  confirmNoticeMail: {
    ...route,
    method: 'POST',
    path: '/notices/mail/confirm',
    errors: ['wrong_state'],
    summary: 'Confirm the address by the code that came there: five tries, one hour',
    body: z.strictObject({ code: z.string().max(20) }),
    status: 200,
    answer: NoticeSettingsView,
  },
  endNoticeMail: {
    ...route,
    method: 'DELETE',
    path: '/notices/mail',
    summary: 'Have mails sent no more',
    status: 204,
  },
  testNotice: {
    ...route,
    method: 'POST',
    path: '/notices/test',
    errors: ['wrong_state'],
    summary: 'Send a notice that is about nothing; GET /v1/notices says what became of it',
    body: z.strictObject({ way: z.enum(NOTICE_WAYS) }),
    status: 202,
    answer: NoticeSettingsView,
  },
  resendNotice: {
    ...route,
    method: 'POST',
    path: '/notices/{notice_id}/resend',
    errors: ['not_found', 'wrong_state'],
    summary: 'Send a notice that was given up again, under the same id',
    status: 202,
    answer: NoticeSettingsView,
  },
} as const satisfies Record<string, Route>
