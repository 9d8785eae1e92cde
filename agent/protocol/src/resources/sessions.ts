/** Sessions in API responses. */
import { z } from 'zod'
import { SESSION_STATUSES, SESSION_STATES, SHAPE_KINDS } from '../enums/sessions.ts'
import { count, timestamp } from './fields.ts'

export const SessionStatus = z.enum(SESSION_STATUSES)
export type SessionStatus = z.infer<typeof SessionStatus>

/** Derived by the server, so every view shows the same state. */
export const SessionState = z.enum(SESSION_STATES)
export type SessionState = z.infer<typeof SessionState>

const Shape = z.array(z.tuple([z.enum(SHAPE_KINDS), z.number()])).max(64)
const LastStep = z.union([
  z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }),
  z.object({ text: z.string() }),
])

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
    shape: Shape.optional().describe(
      'in lists that ask for it, and on Home: what its time went to, oldest first, as kinds and shares; a ' +
        'few moments behind',
    ),
    last_step: LastStep.nullable()
      .optional()
      .describe('where shape is: its last tool call, or the last text of its agent; both shortened'),
    pinned: z.literal(true).optional().describe('in lists that ask for pins: the reader pinned it'),
  })
  .meta({ id: 'Session' })
export type Session = z.infer<typeof Session>
