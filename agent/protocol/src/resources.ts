/** API resources other than events: sessions, inbox items, artifacts. Wire names are the stored names. */
import { z } from 'zod'
import { SESSION_STATES, SESSION_STATUSES } from './session-words.ts'
import { DECIDED_BY, WORKER_CAUSES, WORKER_KINDS } from './events.ts'

const timestamp = z.string().describe('RFC 3339, UTC')
const count = z.int().nonnegative()

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
    read_at: timestamp.nullable(),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    responded_at: timestamp.nullable(),
    ...DECIDED_BY,
    decided_by_name: z.string().optional().describe('name of the account that decided, if there is one'),
  })
  .meta({ id: 'InboxItem' })
export type InboxItem = z.infer<typeof InboxItem>
export type InboxKind = InboxItem['kind']

/** Whether the parent's log holds the outcome of a child, and which one. */
export const WORKER_STATUSES = ['open', 'complete', 'failed'] as const
export const WorkerView = z
  .object({
    worker_id: z.string().describe('the id of its session'),
    parent_id: z.string(),
    depth: count.describe('1 for a child of a session without a parent'),
    kind: z.enum(WORKER_KINDS),
    task_id: z.string().nullable(),
    attempt: z.int().positive().nullable().describe('attempt at its task'),
    agent: z.string(),
    goal: z
      .string()
      .nullable()
      .describe('the title of its session: its goal, truncated, unless it was renamed'),
    open_children: Session.shape.open_children.describe('its own workers without an outcome'),
    blocked_reason: z.string().nullable().describe('what it needs while its task is blocked'),
    status: z.enum(WORKER_STATUSES).describe('open until its outcome is in the log of its parent'),
    cause: z.enum(WORKER_CAUSES).nullable().describe('why it failed'),
    state: SessionState.describe('state of its session'),
    waiting_on: Session.shape.waiting_on,
    usage: z
      .object({
        input_tokens: count,
        output_tokens: count,
        cost_usd: z.number(),
        unpriced: Session.shape.unpriced,
      })
      .describe('usage of its own session; that of its workers is in their rows'),
    last_event: z.object({ id: count, type: z.string(), at: timestamp }).nullable(),
    started_at: timestamp.describe('when it was created'),
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'Worker' })
export type WorkerView = z.infer<typeof WorkerView>
export const BoardView = z
  .object({
    group_id: z.string().describe('the root session of the tree'),
    notes: z.array(
      z.object({
        id: z.string(),
        type: z.enum(['FACT', 'FAIL', 'CLAIM', 'RESULT']),
        content: z.string(),
        ref: z.string().nullable(),
        writer_id: z.string().describe('the session that wrote it'),
        created_at: timestamp,
        expires_at: timestamp.nullable(),
      }),
    ),
    next_seq: count.describe('the number of the next note'),
  })
  .meta({ id: 'Board' })
export type BoardView = z.infer<typeof BoardView>

export const TaskView = z
  .object({
    task_id: z.string(),
    session_id: z.string().describe('the session that created it'),
    goal: z.string(),
    status: z
      .enum(['todo', 'ready', 'running', 'blocked', 'done', 'failed', 'cancelled'])
      .describe(
        'todo: waits for other tasks; ready: no worker has started it yet; blocked: waits for an answer',
      ),
    after: z.array(z.string()).describe('tasks that must be done first'),
    attempt_count: count,
    max_attempts: count,
    worker_id: z.string().nullable().describe('the child session of the last attempt'),
    result: z.string().nullable(),
    error: z.string().nullable().describe('why it failed or was cancelled'),
    blocked_reason: z.string().nullable(),
    failed_attempts: z.array(
      z.object({ worker_id: z.string(), error: z.string(), partial_result: z.string().optional() }),
    ),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'Task' })
export type TaskView = z.infer<typeof TaskView>

export const PrincipalView = z
  .object({
    kind: z.enum(['user', 'service_account']),
    id: z.string(),
    org_id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    admin: z.boolean(),
    has_password: z.boolean().optional().describe('for users only'),
  })
  .meta({ id: 'Principal' })

/**
 * The caller. A service account sees the sessions it created unless its scope is `org`; an administrator sees
 * those of the organisation.
 */
export type Principal =
  | { kind: 'user'; id: string; org_id: string; admin: boolean; name: string; email: string }
  | { kind: 'service_account'; id: string; org_id: string; scope: 'own' | 'org'; name: string }

export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    request_id: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .max(20)
      .optional(),
    errors_omitted: z.int().optional().describe('errors beyond the first twenty'),
  })
  .meta({ id: 'Problem' })
