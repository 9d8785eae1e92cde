/** The timer for a mission's deadline. */
import type { NewMission, RowChange } from '@cairn/log'

const idOf = (missionId: string): string => `mission:${missionId}`
export const dropMissionTimer = (missionId: string): RowChange => ({ do: 'timer.drop', id: idOf(missionId) })

export const missionTimer = (
  { mission_id, session_id }: Pick<NewMission, 'mission_id' | 'session_id'>,
  minutes: number,
): RowChange => ({
  do: 'timer.set',
  id: idOf(mission_id),
  kind: 'deadline',
  session_id,
  after_ms: Math.max(1, Math.round(minutes * 60_000)),
  data: { mission_id },
})
