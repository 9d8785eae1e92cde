/** The filter of the EVENTS tab. Families and types add events (any of them); the text narrows the result. */
import { type EventType, type Family, type SessionEvent, familyOf, isEventType } from '@cairn/protocol'

export type EventFilter = {
  families: ReadonlySet<Family>
  types: ReadonlySet<EventType>
  /** In lower case; searched in the id, the type and the JSON of the payload. */
  text: string
  /**
   * Shows the chunks of streamed answers, which are most of a log; otherwise they are folded into the
   * response.
   */
  showsDeltas: boolean
}

export const NO_FILTER: EventFilter = {
  families: new Set(),
  types: new Set(),
  text: '',
  showsDeltas: false,
}

export const isDelta = ({ type }: SessionEvent): boolean => type === 'llm.delta'

export const isFiltering = (filter: EventFilter): boolean =>
  filter.families.size > 0 || filter.types.size > 0 || filter.text !== ''

/** The family that colours a type; a type of a newer server counts as reserved. */
export const familyOfAny = (type: string): Family => (isEventType(type) ? familyOf(type) : 'reserved')

export function matches(
  filter: EventFilter,
  event: SessionEvent,
  textOf: (event: SessionEvent) => string,
): boolean {
  if (isDelta(event) && !filter.showsDeltas && !filter.types.has('llm.delta')) return false
  const named = filter.families.size > 0 || filter.types.size > 0
  if (named && !filter.families.has(familyOfAny(event.type)) && !filter.types.has(event.type)) return false
  return filter.text === '' || textOf(event).includes(filter.text)
}

/** The text that the filter searches. */
export const searchText = (event: SessionEvent): string =>
  `${event.id} ${event.type} ${JSON.stringify(event.data)}`.toLowerCase()

/** A copy of the set with the member added or removed. */
export function toggled<T>(set: ReadonlySet<T>, member: T): ReadonlySet<T> {
  const next = new Set(set)
  if (!next.delete(member)) next.add(member)
  return next
}
