/** Timers for limits in time: of a budget, of a mission, and of the session of an ended run. */
import type { NewMission, RowChange } from '@cairn/log'

const afterMinutes = (minutes: number): number => Math.max(1, Math.round(minutes * 60_000))

const deadlineId = (sessionId: string): string => `deadline:${sessionId}`
export const dropDeadline = (sessionId: string): RowChange => ({
  do: 'timer.drop',
  id: deadlineId(sessionId),
})

/** The time limit of a budget. A child's timer belongs to its parent, whose log records the end. */
export const deadlineTimer = (
  session: { id: string; parent_id: string | null },
  minutes: number,
): RowChange => ({
  do: 'timer.set',
  id: deadlineId(session.id),
  kind: 'deadline',
  session_id: session.parent_id ?? session.id,
  after_ms: afterMinutes(minutes),
  data: { of: session.id },
})

const missionId = (id: string): string => `mission:${id}`
export const dropMissionTimer = (id: string): RowChange => ({ do: 'timer.drop', id: missionId(id) })

/** The deadline of a mission. */
export const missionTimer = (
  { mission_id, session_id }: Pick<NewMission, 'mission_id' | 'session_id'>,
  minutes: number,
): RowChange => ({
  do: 'timer.set',
  id: missionId(mission_id),
  kind: 'deadline',
  session_id,
  after_ms: afterMinutes(minutes),
  data: { mission_id },
})

/** Archives the session of an ended run. */
export const retireTimer = (runId: string, keep_s: number, after_ms = keep_s * 1000): RowChange => ({
  do: 'timer.set',
  id: `retire:${runId}`,
  kind: 'retire',
  session_id: runId,
  after_ms: Math.max(1, Math.round(after_ms)),
  data: { keep_s },
})
