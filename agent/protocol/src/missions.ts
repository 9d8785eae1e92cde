/** Missions as they are shown, and the words for their states. */
import { z } from 'zod'
import { SessionBudget } from './config.ts'

export const MISSION_KINDS = ['mission', 'research'] as const
/** `paused` and `blocked` can be resumed; the last four are final. */
export const MISSION_STATUSES = [
  'active',
  'paused',
  'blocked',
  'satisfied',
  'failed',
  'max_iterations_reached',
  'cancelled',
] as const
export type MissionStatus = (typeof MISSION_STATUSES)[number]
const OVER: readonly MissionStatus[] = ['satisfied', 'failed', 'max_iterations_reached', 'cancelled']
export const isMissionOver = (status: MissionStatus): boolean => OVER.includes(status)
/** What max_iterations is clamped to, and its default. */
export const MISSION_ROUNDS = 20
/** Why a round was graded. */
export const MISSION_TRIGGERS = ['round_end', 'report', 'budget', 'deadline'] as const
export type MissionTrigger = (typeof MISSION_TRIGGERS)[number]

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
    iteration: count.describe('rounds that were graded'),
    max_iterations: z.int().min(1),
    budget: SessionBudget.nullable(),
    spent: z
      .object({ tokens: count, cost_usd: z.number(), minutes: z.number() })
      .describe(
        'by the coordinator and all below it since the definition; in a listing as of the last verdict',
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
  session_status: z.string().describe('of its coordinator'),
  evaluating: z.boolean().describe('an evaluator looks at the last round'),
  open_children: count,
  verdicts: z.array(
    z.object({
      iteration: count,
      result: z.string(),
      trigger: z.enum(MISSION_TRIGGERS),
      explanation: z.string(),
      feedback: z.string(),
      parse_failed: z.boolean(),
      at: timestamp,
    }),
  ),
}).meta({ id: 'MissionDetail' })
export type MissionDetail = z.infer<typeof MissionDetail>
