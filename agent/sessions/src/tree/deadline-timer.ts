/** The timer for the time limit of a budget. */
import type { RowChange } from '@cairn/log'

const idOf = (sessionId: string): string => `deadline:${sessionId}`
export const dropDeadline = (sessionId: string): RowChange => ({ do: 'timer.drop', id: idOf(sessionId) })

/** A child's timer belongs to its parent, whose log records the end. */
export const deadlineTimer = (
  session: { id: string; parent_id: string | null },
  minutes: number,
): RowChange => ({
  do: 'timer.set',
  id: idOf(session.id),
  kind: 'deadline',
  session_id: session.parent_id ?? session.id,
  after_ms: Math.max(1, Math.round(minutes * 60_000)),
  data: { of: session.id },
})
