/** Research that its coordinator may continue. Pure. */
import type { Mission, Research } from '@cairn/state'
import type { Position } from '../../turn/position.ts'

export type Active = { mission: Mission; research: Research }

export function activeResearch({ mission, research }: Pick<Position, 'mission' | 'research'>): Active | null {
  const isActive =
    mission?.status === 'active' && research !== null && research.mission_id === mission.mission_id
  return isActive ? { mission, research } : null
}

export const NO_RESEARCH = 'this session has no active research'

/** Whether this round's report was accepted, with no message after it. */
export function isReported(position: Position): boolean {
  const { mission, research } = position
  if (mission === null || research?.mission_id !== mission.mission_id) return false
  const { report } = research
  if (report === null || report.at < mission.round_from) return false
  const { entries, deferred } = position.conversation
  return [...entries, ...deferred].every(
    ({ event_id, message }) => event_id <= report.at || message.role !== 'user',
  )
}
