/** Enumerations of missions, without schemas so that a thread can load them cheaply. */

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
/** The maximum and default of max_iterations. */
export const MISSION_ROUNDS = 20
/** Why a round was evaluated. */
export const MISSION_TRIGGERS = ['round_end', 'report', 'budget', 'deadline'] as const
export type MissionTrigger = (typeof MISSION_TRIGGERS)[number]
