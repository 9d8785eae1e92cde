/** Lookups in the event table by type name. */
import {
  EVENTS,
  EVENT_TYPES,
  type EventFacts,
  type EventType,
  type Family,
  type Note,
  type Producer,
  NOT_BUILT,
  isEventType,
} from './index.ts'
import { compact } from './event-text.ts'
import type { SessionEvent } from './record.ts'

export const familyOf = (type: EventType): Family => EVENTS[type].family

/** True if this version writes events of the type. */
export const isWritten = (type: EventType): boolean => {
  const { producer, facts } = EVENTS[type] as { producer: Producer; facts: EventFacts }
  return producer !== 'none' && !NOT_BUILT.includes(producer) && facts.planned !== true
}

export const typesOf = (family: Family): EventType[] =>
  EVENT_TYPES.filter(type => EVENTS[type].family === family)

/** The message that the model reads for an event, or null. */
export function noteOf(event: SessionEvent): Note | null {
  if (!isEventType(event.type)) return null
  const says = EVENTS[event.type].says as ((data: unknown) => Note | null) | null
  return says === null ? null : says(event.data)
}

/** The summary of an event. A payload that no longer fits its contract (from an old log) is shown as JSON. */
export function summarize(event: SessionEvent): string {
  if (!isEventType(event.type) || !EVENTS[event.type].read.safeParse(event.data).success)
    return compact(event.data)
  return (EVENTS[event.type].summary as (data: unknown) => string)(event.data)
}
