/** The states of a session, crashes, and compaction. */
import { z } from 'zod'
import { either, def } from './define.ts'
import { short, join, quote, secondsText, usageText } from './event-text.ts'
import { id, count, seconds, json } from './fields.ts'
import { ERROR_CATEGORIES } from './shapes.ts'

const failure = { error_category: z.enum(ERROR_CATEGORIES), error: z.string(), retryable: z.boolean() }

export const LIFECYCLE_EVENTS = {
  'harness.wake': either(
    'wake',
    'lifecycle',
    'A worker acquired the lease of the session and began processing; first event of every turn. The ' +
      'background review has review flags in place of the cursor.',
    { worker_id: id, review_memory: z.boolean(), review_skills: z.boolean() },
    { worker_id: id, cursor: count },
    {
      extra: {
        agent_version: count
          .optional()
          .describe('version of the agent with which the session began, if it was edited in the web UI'),
      },
      starts_turn: true,
      summary: d =>
        'cursor' in d
          ? `worker ${short(d.worker_id)} from ${String(d.cursor)}`
          : join(`worker ${short(d.worker_id)}`, 'background review'),
    },
  ),
  'session.pause': def(
    'lifecycle',
    'lifecycle',
    'The session was paused.',
    {},
    {
      extra: { reason: z.string().optional() },
      status: 'paused',
      saga: 'rolls_back',
      shape: 'halt',
      summary: d => d.reason ?? '',
    },
  ),
  'session.resume': def(
    'lifecycle',
    'lifecycle',
    'The session became active again.',
    {},
    {
      extra: { source: z.string().optional() },
      wakes: true,
      status: 'active',
      starts_turn: true,
      aftermath: true,
      shape: 'halt',
      summary: d => (d.source === undefined ? '' : `by ${d.source}`),
    },
  ),
  'session.complete': def(
    'lifecycle',
    'lifecycle',
    'The last turn ended.',
    {},
    {
      extra: {
        reason: z.enum(['completed', 'budget_exhausted', 'tool_loop', 'stopped']),
        worker_id: id.optional(),
      },
      status: 'completed',
      shape: 'end',
      summary: d => d.reason.replaceAll('_', ' '),
    },
  ),
  'session.fail': def(
    'lifecycle',
    'lifecycle',
    'The session failed.',
    {},
    {
      channel: true,
      extra: { reason: z.string(), ...failure, attempts: count.optional() },
      status: 'failed',
      saga: 'rolls_back',
      alarm: true,
      trouble: 'note',
      shape: 'step',
      summary: d =>
        join(d.reason, d.error_category, quote(d.error), d.retryable ? 'can be retried' : 'final'),
    },
  ),
  'session.stopped': def(
    'lifecycle',
    'lifecycle',
    'A stop aborted the running turn; the session stays active.',
    {},
    {
      channel: true,
      extra: { reason: z.string(), worker_id: id.optional() },
      saga: 'rolls_back',
      shape: 'halt',
      summary: d => d.reason,
    },
  ),
  'session.model_escalated': def(
    'turn',
    'lifecycle',
    'The model was swapped within the turn to get past a provider behaviour.',
    { reason: z.string(), model: z.string() },
    { worker: true, summary: d => join(`to ${d.model}`, d.reason) },
  ),
  'session.title_updated': def(
    'titles',
    'lifecycle',
    'The title changed.',
    {},
    {
      // Provisional: the beginning of the first message, until a model has generated a title.
      extra: { title: z.string(), provisional: z.boolean().optional() },
      aftermath: true,
      summary: d => quote(d.title),
    },
  ),
  'harness.crash': def(
    'wake',
    'lifecycle',
    'The runtime raised and the turn died.',
    {},
    {
      extra: { worker_id: id, ...failure },
      alarm: true,
      trouble: 'exclude',
      summary: d =>
        join(
          d.error_category,
          quote(d.error),
          `worker ${short(d.worker_id)}`,
          d.retryable ? 'will be retried' : 'final',
        ),
    },
  ),
  'harness.recovered': def(
    'sweeper',
    'lifecycle',
    'A session abandoned by a dead worker was found; documents the gap and retries.',
    {},
    {
      extra: { recovered_by: z.string(), stale_seconds: seconds },
      alarm: true,
      summary: d => join(`by ${d.recovered_by}`, `after ${secondsText(d.stale_seconds)} without activity`),
    },
  ),
  'context.compact': def(
    'turn',
    'lifecycle',
    'The context was compressed: the model reads compacted_messages in place of the earlier events, ' +
      'which stay in the log.',
    {},
    {
      extra: {
        strategy: z.enum(['summary', 'clear']),
        original_message_count: count,
        compressed_message_count: count,
        through_event_id: count,
        compacted_messages: z.array(json),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
        reason: z.enum(['threshold', 'overflow', 'command']).optional(),
        truncated: z
          .boolean()
          .optional()
          .describe('no summary could be generated; older messages were shortened by rule'),
      },
      usage: true,
      worker: true,
      summary: d =>
        join(
          d.strategy,
          `${d.original_message_count} → ${d.compressed_message_count} messages`,
          `through event ${d.through_event_id}`,
          usageText(d),
        ),
    },
  ),
} as const
