/** Results of scheduled runs. */
import { z } from 'zod'
import { def } from './define.ts'
import { join, quote, secondsText } from './event-text.ts'
import { id, seconds, count } from './fields.ts'
import { RUN_OUTCOMES } from './shapes.ts'

export const SCHEDULE_EVENTS = {
  'loop.result': def(
    'coordination',
    'coordination',
    'Final answer of a scheduled run, delivered on the parent session.',
    {},
    {
      channel: true,
      extra: {
        run_session_id: id,
        schedule_id: id.optional(),
        scheduled_session_id: id.describe('the id of the schedule, not of a session; same as schedule_id'),
        content: z.string(),
        outcome: z.enum(RUN_OUTCOMES),
        duration_seconds: seconds,
        run_completed_at: z.string(),
        slot_at: z.string().optional(),
        run_number: count.optional(),
        truncated: z.boolean().optional(),
        wake: z
          .boolean()
          .optional()
          .describe('the result wakes the session; absent: the session reads it in its next turn'),
        input_tokens: count.optional(),
        output_tokens: count.optional(),
        cost_usd: z.number().optional(),
      },
      wakes: true,
      read_later: true,
      says: d => [`Scheduled run ${d.run_session_id} ended (${d.outcome})`, d.content],
      summary: d => join(d.outcome, quote(d.content), secondsText(d.duration_seconds)),
    },
  ),
} as const
