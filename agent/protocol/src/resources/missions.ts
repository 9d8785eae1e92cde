/** Missions in API responses. */
import { z } from 'zod'
import { SessionBudget } from '../config/index.ts'
import { MISSION_KINDS, MISSION_STATUSES, MISSION_TRIGGERS } from '../enums/missions.ts'

const count = z.int().nonnegative()
const timestamp = z.iso.datetime()
export const MissionView = z
  .object({
    mission_id: z.string(),
    session_id: z.string().describe('its coordinator'),
    kind: z.enum(MISSION_KINDS),
    description: z.string(),
    rubric: z.string(),
    status: z.enum(MISSION_STATUSES),
    iteration: count.describe('graded rounds'),
    max_iterations: z.int().min(1),
    budget: SessionBudget.nullable(),
    spent: z
      .object({ tokens: count, cost_usd: z.number(), minutes: z.number() })
      .describe(
        'by the coordinator and its descendants since the definition; in a list, as of the last verdict',
      ),
    last_evaluation: z
      .object({ result: z.string(), explanation: z.string(), feedback: z.string(), at: timestamp })
      .nullable(),
    reason: z.string().nullable().describe('why it was paused or cancelled'),
    created_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'Mission' })
export type MissionView = z.infer<typeof MissionView>
export const MissionDetail = MissionView.extend({
  session_status: z.string().describe('status of its coordinator'),
  evaluating: z.boolean().describe('an evaluator is grading the last round'),
  open_children: count,
  verdicts: z.array(
    z.object({
      iteration: count,
      result: z.string(),
      trigger: z.enum(MISSION_TRIGGERS),
      explanation: z.string(),
      feedback: z.string(),
      parse_failed: z.boolean(),
      response_event_id: z
        .int()
        .optional()
        .describe('the graded answer in the log of the coordinator; absent in verdicts of older releases'),
      at: timestamp,
    }),
  ),
}).meta({ id: 'MissionDetail' })
export type MissionDetail = z.infer<typeof MissionDetail>
