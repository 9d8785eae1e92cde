/** Inbox items in API responses. */
import { z } from 'zod'
import { DECIDED_BY } from '../events/index.ts'
import { count, timestamp } from './fields.ts'

export const INBOX_KINDS = [
  'input_required',
  'action_required',
  'task_complete',
  'governance_gate',
  'progress_checkin',
] as const
export const INBOX_STATUSES = ['pending', 'responded', 'acknowledged', 'expired'] as const
export const InboxItem = z
  .object({
    id: z.string(),
    session_id: z.string(),
    root_session_id: z
      .string()
      .describe('the root of the tree of the session that created it; session_id unless that is a worker'),
    agent: z.string().describe('agent of the session that created it'),
    session_title: z.string().nullable(),
    source_event_id: count,
    kind: z.enum(INBOX_KINDS),
    status: z.enum(INBOX_STATUSES),
    title: z.string(),
    body: z.string().nullable(),
    payload: z.record(z.string(), z.unknown()).describe('the data of the event'),
    decision: z.string().nullable().describe('approve, reject, completed, answered or passed_over'),
    read_at: timestamp.nullable().describe('null for a user who marked the item as unread'),
    snoozed_until: timestamp
      .optional()
      .describe('for the user who asks: until then, the item is not among what needs them'),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    responded_at: timestamp.nullable(),
    ...DECIDED_BY,
    decided_by_name: z.string().optional().describe('name of the account that decided, if there is one'),
  })
  .meta({ id: 'InboxItem' })
export type InboxItem = z.infer<typeof InboxItem>
export type InboxKind = InboxItem['kind']
