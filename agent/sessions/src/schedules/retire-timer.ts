/** The timer that archives the session of an ended run. */
import type { RowChange } from '@cairn/log'

export const retireTimer = (runId: string, keep_s: number, after_ms = keep_s * 1000): RowChange => ({
  do: 'timer.set',
  id: `retire:${runId}`,
  kind: 'retire',
  session_id: runId,
  after_ms: Math.max(1, Math.round(after_ms)),
  data: { keep_s },
})
