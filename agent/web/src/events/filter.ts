/** Which events the EVENTS tab shows. Families and types widen (any of them); the text narrows. */
import { type EventType, type Family, type SessionEvent, familyOf, isEventType } from '@cairn/protocol'

export type EventFilter = {
  families: ReadonlySet<Family>
  types: ReadonlySet<EventType>
  /** Lower case; looked for in the type and in the JSON of the payload. */
  text: string
  /** Shows the chunks of streamed answers too, most of every log; else they are folded into the response. */
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

/** The family a type is coloured by; a type of a newer server counts as reserved. */
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

/** What the text filter searches. */
export const searchText = (event: SessionEvent): string =>
  `${event.id} ${event.type} ${JSON.stringify(event.data)}`.toLowerCase()

/** The same set with one member more or less. */
export function toggled<T>(set: ReadonlySet<T>, member: T): ReadonlySet<T> {
  const next = new Set(set)
  if (!next.delete(member)) next.add(member)
  return next
}
