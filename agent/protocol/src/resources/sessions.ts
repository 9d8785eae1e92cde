/** Sessions in API responses. */
import { z } from 'zod'
import { SESSION_STATUSES, SESSION_STATES } from '../enums/sessions.ts'
import { count, timestamp } from './fields.ts'

export const SessionStatus = z.enum(SESSION_STATUSES)
export type SessionStatus = z.infer<typeof SessionStatus>

/** Derived by the server, so every view shows the same state. */
export const SessionState = z.enum(SESSION_STATES)
export type SessionState = z.infer<typeof SessionState>

export const Session = z
  .object({
    id: z.string(),
    agent: z.string(),
    channel: z.string(),
    status: SessionStatus,
    state: SessionState.describe(
      'idle: nothing to do yet, or stopped; running: a turn is due or running; needs_…: it waits for a ' +
        'person; done: the last turn ended',
    ),
    waiting_on: z
      .enum(['question', 'approval', 'action'])
      .nullable()
      .describe('what a person must do; questions and actions suspend the turn, approvals do not'),
    title: z.string().nullable(),
    model: z.string().nullable(),
    parent_id: z.string().nullable(),
    root_id: z.string().describe('the root of its tree; its own id if it has no parent'),
    depth: count.describe('0 for a session without a parent, 1 for its children'),
    open_children: count.describe('direct children without an outcome'),
    children_cost_usd: z
      .number()
      .describe('cost of ended children and their descendants; not part of cost_usd'),
    last_event_id: count,
    message_count: count,
    tool_call_count: count,
    input_tokens: count,
    output_tokens: count,
    cost_usd: z.number(),
    unpriced: z.boolean().describe('a call had no known rate: cost_usd is a lower bound'),
    created_by: z.string().describe('user or service account that created it'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>
