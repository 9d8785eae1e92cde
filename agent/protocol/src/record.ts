/** Event records: made by a producer as drafts, stored and sent as one line of JSON. */
import {
  EVENTS,
  type EventData,
  type EventType,
  type Producer,
  type ReadData,
  type WrittenBy,
  isEventType,
} from './events.ts'

/**
 * Position in a session's log: from 1, strictly increasing in commit order, never reused. 0 is "before the
 * first".
 */
export type EventId = number

export type EventOf<T extends EventType> = {
  id: EventId
  session_id: string
  type: T
  /** RFC 3339, UTC, milliseconds. */
  created_at: string
  data: ReadData<T>
}
/** Any event of a log, discriminated by `type`. */
export type SessionEvent = { [T in EventType]: EventOf<T> }[EventType]

declare const drafted: unique symbol
/** An event that passed its contract and waits for its id. Only a `writer` makes one. */
export type EventDraft<T extends EventType = EventType> = {
  readonly type: T
  readonly data: EventData<T>
  readonly [drafted]: true
}

/** What a module may write: its own types. Another's, or a reserved one, does not compile. */
export type Write<P extends Producer> = <T extends WrittenBy<P>>(type: T, data: EventData<T>) => EventDraft<T>

/**
 * The writer of one producer. Each producer's writer is taken in exactly one module; a test reads the sources
 * for that.
 */
export function writer<const P extends Exclude<Producer, 'none'>>(producer: P): Write<P> {
  return (type, data) => {
    const contract = EVENTS[type]
    if (contract.producer !== producer)
      throw new Error(`[writer] ${type} is written by ${contract.producer}, not by ${producer}`)
    const parsed = contract.write.safeParse(data)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new Error(
        `[writer] ${type}: ${issue?.path.join('.') || 'payload'}: ` +
          `${issue?.message ?? 'does not fit its contract'}`,
      )
    }
    return { type, data } as EventDraft<typeof type>
  }
}

/**
 * One line of a log as an event. Loose: unknown keys pass. Throws on a line that is no record at all;
 * a payload that does not fit its type any more is handed on as it is, for a log outlives its writers.
 */
export function decodeEvent(line: string): SessionEvent {
  const record = JSON.parse(line) as SessionEvent
  if (typeof record.id !== 'number' || typeof record.type !== 'string')
    throw new Error('[decodeEvent] not an event record: ' + line.slice(0, 80))
  return record
}

/** Whether an event of a log fits the reading contract of its type. */
export const fitsContract = (event: SessionEvent): boolean =>
  isEventType(event.type) && EVENTS[event.type].read.safeParse(event.data).success
