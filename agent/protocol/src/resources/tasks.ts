/** Tasks in API responses. */
import { z } from 'zod'
import { count, timestamp } from './fields.ts'

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
