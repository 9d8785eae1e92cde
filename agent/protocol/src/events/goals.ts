/** Goals and their evaluation. */
import { z } from 'zod'
import { def } from './define.ts'
import { goalText, join, oneLine, usageText, short } from './event-text.ts'
import { id, evaluationsBefore, eventId, evaluationsSoFar, count } from './fields.ts'
import { EVALUATION_RESULTS, Rubric } from './shapes.ts'

const goal = {
  outcome_id: id,
  description: z.string(),
  rubric: Rubric,
  max_iterations: z.int().min(1).max(20),
}

export const GOAL_EVENTS = {
  'user.define_outcome': def(
    'goals',
    'goals',
    'A goal was set through the POST events API.',
    {
      ...goal,
      processed_at: z.string(),
    },
    { aftermath: true, summary: goalText },
  ),
  'outcome.defined': def('goals', 'goals', 'A goal was saved by /goal.', goal, {
    worker: true,
    summary: goalText,
  }),
  'span.outcome_evaluation_start': def(
    'evaluator',
    'goals',
    'The evaluator opened its span around one turn.',
    {
      outcome_id: id,
      iteration: evaluationsBefore,
      response_event_id: eventId,
    },
    {
      worker: true,
      summary: d => join(`iteration ${d.iteration}`, `of event ${d.response_event_id}`),
    },
  ),
  'span.outcome_evaluation_ongoing': def(
    'evaluator',
    'goals',
    'The evaluator is running.',
    {
      outcome_id: id,
      iteration: evaluationsBefore,
    },
    { worker: true, summary: d => `iteration ${d.iteration}` },
  ),
  'span.outcome_evaluation_end': def(
    'evaluator',
    'goals',
    'The evaluator returned a verdict.',
    {
      outcome_id: id,
      outcome_evaluation_start_id: eventId,
      iteration: evaluationsSoFar,
      result: z.enum(EVALUATION_RESULTS),
      explanation: z.string(),
      feedback: z.string(),
      parse_failed: z.boolean(),
    },
    {
      extra: {
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
        cost_unpriced_model: z.string().optional(),
      },
      usage: true,
      worker: true,
      summary: d =>
        join(
          `iteration ${d.iteration}`,
          d.result.replaceAll('_', ' '),
          oneLine(d.explanation, 120),
          d.parse_failed && 'unparseable',
          usageText(d),
        ),
    },
  ),
  'outcome.continuation': def(
    'evaluator',
    'goals',
    'A continuation of the goal was queued.',
    {
      outcome_id: id,
      iteration: evaluationsSoFar,
      status_event_id: eventId.nullable(),
    },
    { worker: true, summary: d => `iteration ${d.iteration}` },
  ),
  'outcome.paused': def(
    'goals',
    'goals',
    'The goal was paused by /goal pause.',
    {
      outcome_id: id,
      reason: z.literal('user-paused'),
    },
    { worker: true, summary: d => d.reason },
  ),
  'outcome.cleared': def(
    'goals',
    'goals',
    'The goal was removed by /goal clear; null when none was active.',
    {
      outcome_id: id.nullable(),
    },
    {
      worker: true,
      summary: d => (d.outcome_id === null ? 'nothing was active' : `goal ${short(d.outcome_id)}`),
    },
  ),
} as const
