/** Budgets of sessions. */
import { z } from 'zod'

export const SessionBudget = z
  .strictObject({
    max_tokens: z.int().positive().optional(),
    max_cost_usd: z.number().positive().optional().describe('only with models that have a price'),
    max_minutes: z
      .number()
      .positive()
      .max(366 * 24 * 60)
      .optional()
      .describe('counted from the first claim of the session; at most a year'),
  })
  .describe('limits for a session and all its descendants')
export type SessionBudget = z.infer<typeof SessionBudget>
