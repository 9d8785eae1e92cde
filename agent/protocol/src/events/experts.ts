/** Experts, and the feedback of people and judges. */
import { z } from 'zod'
import { def } from './define.ts'
import { join, quote, plural, usageText, ratingText } from './event-text.ts'
import { count, id, eventId } from './fields.ts'
import { ExpertTrace } from './shapes.ts'

const rating = {
  target_event_id: eventId,
  rating: z.enum(['up', 'down']),
  source: z.enum(['user', 'judge']),
  rated_by_user_id: id.optional(),
  rated_by_service_account_id: id.optional(),
  reason: z.string().optional(),
  rationale: z.string().optional(),
  score: z.number().optional(),
  criteria: z.record(z.string(), z.number()).optional(),
}
const takenBack = { withdrawn: z.literal(true).optional().describe('the principal withdraws its rating') }

export const EXPERT_EVENTS = {
  'expert.delegation': def(
    'experts',
    'experts',
    'The model called consult_expert.',
    { expert: z.string(), task: z.string().max(500), tools: z.array(z.string()), max_iterations: count },
    {
      extra: { tool_call_id: id.optional() },
      worker: true,
      summary: d => join(d.expert, quote(d.task), `at most ${plural(d.max_iterations, 'iteration')}`),
    },
  ),
  'expert.result': def(
    'experts',
    'experts',
    'The expert finished.',
    { expert: z.string(), success: z.literal(true), iterations_used: count, content: z.string() },
    {
      extra: {
        tool_call_id: id.optional(),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
        trace: ExpertTrace.optional(),
      },
      usage: true,
      worker: true,
      summary: d => join(d.expert, quote(d.content), plural(d.iterations_used, 'iteration'), usageText(d)),
    },
  ),
  'expert.failure': def(
    'experts',
    'experts',
    'The expert errored or exhausted its iteration budget.',
    { expert: z.string(), success: z.literal(false), iterations_used: count, error: z.string() },
    {
      extra: {
        tool_call_id: id.optional(),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
        trace: ExpertTrace.optional(),
      },
      usage: true,
      worker: true,
      summary: d => join(d.expert, quote(d.error), plural(d.iterations_used, 'iteration'), usageText(d)),
    },
  ),
  'expert.endorse': def(
    'feedback',
    'experts',
    'A user or judge rated an expert.result up.',
    {
      expert: z.string(),
      ...rating,
    },
    { aftermath: true, extra: takenBack, summary: d => join(d.expert, ratingText(d)) },
  ),
  'expert.override': def(
    'feedback',
    'experts',
    'A user or judge rated an expert.result down.',
    {
      expert: z.string(),
      ...rating,
    },
    {
      aftermath: true,
      trouble: 'note',
      extra: takenBack,
      summary: d => join(d.expert, ratingText(d)),
    },
  ),
  'user.feedback': def('feedback', 'experts', 'A user or judge rated an llm.response.', rating, {
    aftermath: true,
    extra: {
      ...takenBack,
      history_item: count.optional().describe('the rated message in `history` of an import, counted from 0'),
    },
    summary: ratingText,
  }),
} as const
