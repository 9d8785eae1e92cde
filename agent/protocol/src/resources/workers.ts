/** Workers in API responses. */
import { z } from 'zod'
import { WORKER_KINDS, WORKER_CAUSES } from '../events/index.ts'
import { count, timestamp } from './fields.ts'
import { Session, SessionState } from './sessions.ts'

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
