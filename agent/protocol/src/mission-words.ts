/** The words for what a mission is and where it stands; without schemas, so a thread loads no more. */

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
