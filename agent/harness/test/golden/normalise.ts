/**
 * A log as the bytes of a golden file: times, durations and random ids replaced by what only their order
 * decides, and chunks, whose number is chance, left out. Normalising twice changes nothing.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

const EPOCH = Date.parse('2026-01-01T00:00:00.000Z')
const DURATIONS = new Set(['latency_ms', 'first_token_ms', 'elapsed_ms'])
const isEventId = (key: string): boolean =>
  key.endsWith('_event_id') ||
  key === 'outcome_evaluation_start_id' ||
  key === 'user_message_id' ||
  key === 'cursor'

export function normalise(events: readonly SessionEvent[]): string {
  const kept = events.filter(event => event.type !== 'llm.delta')
  const newIds = new Map<EventId, EventId>(kept.map((event, index) => [event.id, index + 1]))
  /** Of a chunk, as of what is left: the event before it. */
  const renumber = (id: EventId): EventId => newIds.get(kept.findLast(event => event.id <= id)?.id ?? 0) ?? 0
  const lines = kept.map((event, index) => {
    const at = new Date(EPOCH + index * 1000).toISOString()
    const value = (key: string, given: unknown): unknown => {
      if (typeof given === 'number' && isEventId(key)) return renumber(given)
      if (typeof given === 'number' && DURATIONS.has(key)) return Math.min(given, 1)
      if (key === 'timestamp') return EPOCH / 1000 + index
      return key.endsWith('_at') && typeof given === 'string' && /^\d{4}-\d\d-\d\dT/.test(given) ? at : given
    }
    return JSON.stringify(
      { ...event, id: index + 1, session_id: 'golden', created_at: at, data: event.data },
      value,
    )
  })
  return nameIds(`${lines.join('\n')}\n`)
}

/** Ids by the order in which they appear, each in the form of its kind. */
function nameIds(text: string): string {
  const names = new Map<string, string>()
  return text.replaceAll(/\bid-\d+\b|\bcall_[0-9a-f]{20}\b|\b[0-9a-f]{64}\b/g, id => {
    const known = names.get(id)
    if (known !== undefined) return known
    const order = names.size + 1
    const name = id.startsWith('id-')
      ? `id-${order}`
      : id.startsWith('call_')
        ? `call_${String(order).padStart(20, '0')}`
        : String(order).padStart(64, '0')
    names.set(id, name)
    return name
  })
}
