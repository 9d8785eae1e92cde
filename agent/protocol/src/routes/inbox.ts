/** Routes of the inbox. */
import { z } from 'zod'
import { INBOX_STATUSES, InboxItem, INBOX_KINDS, type InboxKind } from '../resources/index.ts'
import { list, onSession, page, QuestionResponses, said } from './fields.ts'
import type { Route } from './route.ts'

/** Kinds of inbox items, by name or by event type. */
const KIND_FILTER = list([...INBOX_KINDS, ...INBOX_KINDS.map(kind => `inbox.${kind}` as const)]).transform(
  kinds => [...new Set(kinds.map(kind => kind.replace('inbox.', '') as InboxKind))],
)

export const INBOX_ROUTES = {
  listInbox: {
    method: 'GET',
    path: '/inbox',
    summary: 'List inbox items, newest first',
    ...onSession,
    query: z.object({
      ...page,
      status: list(INBOX_STATUSES).optional(),
      kind: KIND_FILTER.optional().describe(
        'kinds of items, or the types of their events: inbox.governance_gate',
      ),
      session_id: z.string().optional(),
      descendants: z
        .enum(['true', 'false'])
        .optional()
        .describe('true, with session_id: also items of all workers below that session'),
    }),
    status: 200,
    answer: z.object({ items: z.array(InboxItem), next_cursor: z.string().nullable() }),
  },
  streamInbox: {
    method: 'GET',
    path: '/inbox/stream',
    summary: 'Stream inbox changes (Server-Sent Events): `snapshot`, then `item`',
    ...onSession,
    status: 200,
    stream: true,
  },
} as const satisfies Record<string, Route>

export const InboxResponse = z.union([
  z.strictObject({
    decision: z.enum(['approve', 'reject']),
    shown_hash: z
      .string()
      .optional()
      .describe('for a gate: the shown_hash of the arguments that the user was shown'),
    reason: said
      .pipe(z.string().max(2000))
      .optional()
      .describe('for a rejected gate: the reason that the agent reads'),
  }),
  z.strictObject({
    completed: z.literal(true),
    note: said
      .pipe(z.string().max(20_000))
      .optional()
      .describe('the text that the agent reads; for a blocked task, its answer'),
  }),
  z.strictObject({
    responses: QuestionResponses.describe('for a question: an answer to each of its prompts'),
  }),
])

const ownMark = { access: 'user', alias: false, status: 200, answer: InboxItem } as const

export const INBOX_ITEM_ROUTES = {
  getInboxItem: {
    method: 'GET',
    path: '/inbox/{item_id}',
    summary: 'Get an inbox item',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
  respondInbox: {
    method: 'POST',
    path: '/inbox/{item_id}/respond',
    errors: ['already_answered', 'wrong_target', 'people_decide', 'not_what_was_shown'],
    summary: 'Decide a gate, complete an action or answer a question',
    ...onSession,
    body: InboxResponse,
    status: 200,
    answer: InboxItem,
  },
  readInboxItem: {
    method: 'POST',
    path: '/inbox/{item_id}/read',
    summary: 'Mark an inbox item as read',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
  ackInboxItem: {
    method: 'POST',
    path: '/inbox/{item_id}/ack',
    errors: ['already_answered', 'wrong_target'],
    summary: 'Acknowledge an informational item',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
  unackInboxItem: {
    method: 'DELETE',
    path: '/inbox/{item_id}/ack',
    errors: ['already_answered', 'wrong_target'],
    summary: 'Take back an acknowledgement: the item is pending again',
    ...onSession,
    status: 200,
    answer: InboxItem,
  },
  unreadInboxItem: {
    method: 'POST',
    path: '/inbox/{item_id}/unread',
    ...ownMark,
    errors: ['already_answered', 'limit_reached'],
    summary: 'Mark a pending item as unread, for yourself',
  },
  snoozeInboxItem: {
    method: 'POST',
    path: '/inbox/{item_id}/snooze',
    ...ownMark,
    errors: ['already_answered', 'limit_reached'],
    summary: 'Hide a pending item from what needs you until a time, for yourself; the agent keeps waiting',
    body: z.strictObject({
      until: z.iso.datetime({ offset: true }).describe('at most 90 days from now'),
    }),
  },
  unsnoozeInboxItem: {
    method: 'DELETE',
    path: '/inbox/{item_id}/snooze',
    ...ownMark,
    summary: 'End the snooze of an item',
  },
} as const satisfies Record<string, Route>
