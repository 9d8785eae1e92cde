/** Workers, delegations, tasks and the board. */
import { z } from 'zod'
import { SessionBudget } from '../config/index.ts'
import { def } from './define.ts'
import { join, short, quote, secondsText, plural, oneLine } from './event-text.ts'
import { id, count, json, seconds } from './fields.ts'
import { WORKER_KINDS, WORKER_CAUSES, ARTIFACT_KINDS } from './shapes.ts'

/** Keys of both child outcomes: the usage of the child and its subtree, and what it left. */
const outcome = {
  duration_seconds: seconds,
  iterations: count,
  input_tokens: count,
  output_tokens: count,
  cost_usd: z.number().nonnegative(),
  files_written: z.array(z.string()),
  artifacts: z
    .array(z.strictObject({ artifact_id: id, name: z.string(), kind: z.enum(ARTIFACT_KINDS) }))
    .optional()
    .describe('fetch them from the child session'),
  tool_call_id: id.optional().describe('the call that created the child'),
  branch_key: id
    .optional()
    .describe('key of a research branch; its findings are reported when it is harvested'),
}

const ofTask = (taskId: string | undefined): string => (taskId === undefined ? '' : ` task ${taskId}`)
const alsoCancelled = (tasks: readonly string[] = []): string[] =>
  tasks.length === 0 ? [] : [`Cancelled with it: ${tasks.join(', ')}`]

export const COORDINATION_EVENTS = {
  'worker.spawned': def(
    'coordination',
    'coordination',
    'A child session was created.',
    {},
    {
      extra: {
        worker_id: id,
        goal: z.string().describe('truncated to 500 characters'),
        task_id: id.optional(),
        kind: z.enum(WORKER_KINDS),
        agent: z.string(),
        depth: count.describe('1 for a child of a root'),
        model: z.string().optional(),
        tool_call_id: id.optional().describe('the call that created it'),
        attempt: count.optional().describe('attempt of the task, from 1'),
        mission_id: id.optional().describe('research mission that it is a branch of'),
        branch_key: id
          .optional()
          .describe('key of a research branch: that of its parent branch, a dot and its own part'),
        budget: SessionBudget.optional().describe('reserved for it and its descendants until its outcome'),
        isolation: z
          .enum(['share', 'copy'])
          .optional()
          .describe('whether it works in the workspace of its parent or in a copy'),
      },
      summary: d => join(`child ${short(d.worker_id)}`, quote(d.goal)),
    },
  ),
  'worker.complete': def(
    'coordination',
    'coordination',
    'A child session finished normally.',
    {},
    {
      extra: {
        worker_id: id,
        result: z.string().describe('truncated to 10,000 characters'),
        task_id: id.optional(),
        metadata: json.optional(),
        truncated: z.boolean().optional().describe('the rest is in the log of the child'),
        attempt: count.optional().describe('attempt of the task, from 1'),
        ...outcome,
      },
      wakes: true,
      says: d =>
        d.branch_key === undefined ? [`Worker ${d.worker_id} finished${ofTask(d.task_id)}`, d.result] : null,
      summary: d => join(`child ${short(d.worker_id)}`, quote(d.result), secondsText(d.duration_seconds)),
    },
  ),
  'worker.failed': def(
    'coordination',
    'coordination',
    'A child session errored or exhausted its iteration budget.',
    {},
    {
      extra: {
        worker_id: id,
        error: z.string(),
        task_id: id.optional(),
        cause: z.enum(WORKER_CAUSES),
        partial_result: z.string().optional().describe('its last text'),
        attempt: count.optional().describe('attempt of the task, from 1'),
        will_retry: z
          .boolean()
          .optional()
          .describe('the task has attempts left; its failure is not reported yet'),
        cancelled_tasks: z
          .array(id)
          .optional()
          .describe('tasks that depended on this one, which was cancelled'),
        ...outcome,
      },
      wakes: true,
      says: d =>
        d.cause === 'parent' || d.will_retry === true || d.branch_key !== undefined
          ? null
          : [
              `Worker ${d.worker_id} failed${ofTask(d.task_id)}`,
              [
                d.error,
                ...(d.partial_result === undefined ? [] : [`The last it said:\n${d.partial_result}`]),
                ...alsoCancelled(d.cancelled_tasks),
              ].join('\n'),
            ],
      summary: d => join(`child ${short(d.worker_id)}`, d.cause, quote(d.error)),
    },
  ),
  'delegation.start': def(
    'coordination',
    'coordination',
    'delegate_task began waiting for a child.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        timeout_seconds: seconds,
        goal: z.string(),
        role: z.enum(['leaf', 'orchestrator']),
        depth: count,
        agent_type: z.string().nullable(),
        model: z.string().nullable(),
      },
      summary: d => join(`${d.role} ${short(d.child_session_id)}`, quote(d.goal), d.model),
    },
  ),
  'delegation.complete': def(
    'coordination',
    'coordination',
    'A delegated child finished.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        goal: z.string(),
        duration_seconds: seconds,
        tool_call_count: count,
        trace: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), tool_call_id: id })),
        files_written: z.array(z.string()),
        files_read: z.array(z.string()),
      },
      summary: d =>
        join(
          short(d.child_session_id),
          secondsText(d.duration_seconds),
          plural(d.tool_call_count, 'tool call'),
          d.files_written.length > 0 && `wrote ${plural(d.files_written.length, 'file')}`,
        ),
    },
  ),
  'delegation.failed': def(
    'coordination',
    'coordination',
    'A delegated child failed.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        goal: z.string(),
        reason: z.string(),
        duration_seconds: seconds,
      },
      summary: d => join(short(d.child_session_id), quote(d.reason), secondsText(d.duration_seconds)),
    },
  ),
  'delegation.stale': def(
    'coordination',
    'coordination',
    'A delegated child has been idle too long; at most once per idle period.',
    {},
    {
      extra: {
        child_session_id: id,
        tool_call_id: id,
        idle_seconds: seconds,
        in_tool: z.boolean(),
        threshold_seconds: seconds,
      },
      summary: d =>
        join(short(d.child_session_id), `idle ${secondsText(d.idle_seconds)}`, d.in_tool && 'in a tool'),
    },
  ),
  'task.blocked': def(
    'coordination',
    'coordination',
    'A task paused itself.',
    {},
    {
      extra: {
        task_id: id,
        worker_id: id,
        reason: z.string().describe('truncated to 500 characters'),
        block_call_id: id.describe('the call of the worker that waits for the answer'),
      },
      wakes: true,
      says: d => [
        `Task ${d.task_id} is blocked`,
        `${d.reason}\nAnswer it with unblock_task, or give it up with cancel_task.`,
      ],
      summary: d => join(short(d.task_id), quote(d.reason)),
    },
  ),
  'task.failed': def(
    'coordination',
    'coordination',
    'A task exhausted its retry budget.',
    {},
    {
      extra: {
        task_id: id,
        attempt_count: count,
        error: z.string(),
        cancelled_tasks: z.array(id).describe('tasks that depended on it'),
      },
      wakes: true,
      says: d => [
        `Task ${d.task_id} failed after ${plural(d.attempt_count, 'attempt')}`,
        [d.error, ...alsoCancelled(d.cancelled_tasks)].join('\n'),
      ],
      summary: d => join(short(d.task_id), `after ${plural(d.attempt_count, 'attempt')}`, quote(d.error)),
    },
  ),
  'board.note': def(
    'coordination',
    'coordination',
    'A note passed admission on the session of its writer.',
    {},
    {
      extra: {
        group_id: id,
        notes: z.array(
          z.strictObject({
            id,
            type: z.enum(['FACT', 'FAIL', 'CLAIM', 'RESULT']),
            content: z.string(),
            ref: z.string().optional().describe('a workspace file, an artifact or a URL'),
            ttl_seconds: seconds.optional().describe('time for which a CLAIM is valid'),
          }),
        ),
      },
      summary: d => d.notes.map(n => `${n.type} ${oneLine(n.content, 80)}`).join('; '),
    },
  ),
  'board.update': def(
    'coordination',
    'coordination',
    'A board snapshot or delta entered the conversation of a reader.',
    {},
    {
      extra: {
        group_id: id,
        kind: z.enum(['snapshot', 'delta']),
        cursor_from: count.nullable(),
        cursor_to: count,
        content: z.string(),
      },
      says: d => ['Shared board', d.content],
      summary: d => join(`${d.kind} to ${d.cursor_to}`, oneLine(d.content, 120)),
    },
  ),
} as const
