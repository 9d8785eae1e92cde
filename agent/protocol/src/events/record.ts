/** Event records: a producer creates drafts; each is stored and sent as one line of JSON. */
import {
  EVENTS,
  type EventData,
  type EventType,
  type Producer,
  type ReadData,
  type WrittenBy,
  isEventType,
} from './index.ts'

/**
 * Position in a session's log: starts at 1, strictly increasing in commit order, never reused. 0 means
 * "before the first event".
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
/** An event that passed validation and has no id yet. Only a `writer` creates drafts. */
export type EventDraft<T extends EventType = EventType> = {
  readonly type: T
  readonly data: EventData<T>
  readonly [drafted]: true
}

/** Restricts a module to its own types: another producer's type, or a reserved one, does not compile. */
export type Write<P extends Producer> = <T extends WrittenBy<P>>(type: T, data: EventData<T>) => EventDraft<T>

/** Creates the writer of a producer. Exactly one module may create each writer; a test checks the sources. */
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
 * Parses one line of a log. Unknown keys pass. Throws if the line is not a record; a payload that no longer
 * fits its type is returned unchanged, because logs outlive their writers.
 */
export function decodeEvent(line: string): SessionEvent {
  const record = JSON.parse(line) as SessionEvent
  if (typeof record.id !== 'number' || typeof record.type !== 'string')
    throw new Error('[decodeEvent] not an event record: ' + line.slice(0, 80))
  return record
}

/** True if the event fits the read schema of its type. */
export const fitsContract = (event: SessionEvent): boolean =>
  isEventType(event.type) && EVENTS[event.type].read.safeParse(event.data).success
