/** Goals in API responses. */
import { z } from 'zod'
import { EVALUATION_RESULTS, Rubric } from '../events/index.ts'

const count = z.int().nonnegative()
export const GOAL_STATUSES = [
  'active',
  'paused',
  'satisfied',
  'blocked',
  'failed',
  'max_iterations_reached',
] as const

export const GoalView = z
  .object({
    outcome_id: z.string(),
    description: z.string(),
    rubric: Rubric,
    max_iterations: z.int().min(1),
    status: z.enum(GOAL_STATUSES),
    started_at: z.iso.datetime(),
    iteration: count.describe('evaluations that have ended'),
    evaluating: z.boolean().describe('an evaluator is grading the last turn'),
    spent: z
      .object({ tokens: count, cost_usd: z.number() })
      .describe('by the session since the goal was set, evaluations included'),
    verdicts: z.array(
      z.object({
        event_id: z.int().positive(),
        iteration: count,
        result: z.enum(EVALUATION_RESULTS),
        explanation: z.string(),
        feedback: z.string(),
        parse_failed: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'Goal' })
export type GoalView = z.infer<typeof GoalView>
