/** The reason of the last compaction if the model has not answered since, as a fold of the log. */
import type { EventData, SessionEvent } from '@cairn/protocol'

export type CompactReason = NonNullable<EventData<'context.compact'>['reason']>

export function foldCompacted(compacted: CompactReason | null, event: SessionEvent): CompactReason | null {
  if (event.type === 'context.compact') return event.data.reason ?? null
  return event.type === 'llm.response' || event.type === 'session.fail' ? null : compacted
}
