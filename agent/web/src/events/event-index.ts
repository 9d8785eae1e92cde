/**
 * The rows of the EVENTS tab over an append-only array of events.
 *
 * A row is one number, `4 × event index + kind`, so rows are strictly ascending and found by bisection. The
 * kinds, in their order at an event: a gap of pruned ids, the head of a turn, the event. New events and a new
 * filter need the same work: scan from `scanned` to the end, in slices that fit a frame. The cost of an
 * arriving event does not depend on the length of the log.
 */
import { type EventType, factsOf, type Family, type SessionEvent } from '@cairn/protocol'
import {
  type EventFilter,
  NO_FILTER,
  familyOfAny,
  isDelta,
  isFiltering,
  matches,
  searchText,
} from './filter.ts'
import { createHeldCalls } from './held-calls.ts'
import { type TurnSums, addToTurn, startTurn, startsTurn } from './turn-sums.ts'

export type RowKey = number
export const GAP = 0
export const TURN = 1
export const EVENT = 2
export const keyOf = (eventIndex: number, kind: number): RowKey => eventIndex * 4 + kind
export const indexOfKey = (key: RowKey): number => key >> 2
export const kindOfKey = (key: RowKey): number => key & 3

export type EventIndex = {
  readonly events: readonly SessionEvent[]
  readonly rows: readonly RowKey[]
  readonly turns: readonly TurnSums[]
  readonly countByType: ReadonlyMap<EventType, number>
  readonly countByFamily: ReadonlyMap<Family, number>
  readonly filter: EventFilter
  /** Events that the current filter has not checked yet. */
  readonly unscanned: number
  /** Number of events among the rows. */
  readonly matching: number
  /** Number of chunks of streamed answers; the size of a log excludes them. */
  readonly deltas: number
  /** Event indexes of crashes, recoveries and failures. */
  readonly alarms: readonly number[]
  append(batch: readonly SessionEvent[]): void
  setFilter(filter: EventFilter): void
  /** Scans until `isLate` returns true; returns true if it reached the end. */
  scan(isLate: () => boolean): boolean
  turnAt(eventIndex: number): TurnSums | undefined
  /** Whether the event is the result of a call that still waits for approval. */
  isWaiting(event: SessionEvent): boolean
}

const SLICE = 256

export function createEventIndex(): EventIndex {
  const log = createTally()
  const { events, turns } = log
  const texts = searchTexts(events)
  let rows: RowKey[] = []
  let filter = NO_FILTER
  let scanned = 0
  let matching = 0
  let turnShown = -1

  function addRows(index: number, event: SessionEvent) {
    const open = !isFiltering(filter)
    if (!matches(filter, event, () => texts(index))) return
    // Gaps of pruned ids are shown only without a filter; a filtered list has gaps everywhere.
    if (open && event.id > (events[index - 1]?.id ?? 0) + 1) rows.push(keyOf(index, GAP))
    const turn = log.turnAt(index)
    if (turn && turn.number !== turnShown) {
      rows.push(keyOf(index, TURN))
      turnShown = turn.number
    }
    rows.push(keyOf(index, EVENT))
    matching += 1
  }

  return {
    events,
    turns,
    alarms: log.alarms,
    countByType: log.countByType,
    countByFamily: log.countByFamily,
    turnAt: log.turnAt,
    isWaiting: log.isWaiting,
    append: log.append,
    get rows() {
      return rows
    },
    get filter() {
      return filter
    },
    get matching() {
      return matching
    },
    get deltas() {
      return log.countByType.get('llm.delta') ?? 0
    },
    get unscanned() {
      return events.length - scanned
    },
    setFilter(next) {
      filter = next
      rows = []
      scanned = 0
      matching = 0
      turnShown = -1
    },
    scan(isLate) {
      while (scanned < events.length) {
        const end = Math.min(events.length, scanned + SLICE)
        for (; scanned < end; scanned += 1) {
          const event = events[scanned]
          if (event) addRows(scanned, event)
        }
        if (isLate()) break
      }
      return scanned === events.length
    },
  }
}

/** The events in log order, and counts that do not depend on the filter. */
function createTally() {
  const events: SessionEvent[] = []
  const turns: TurnSums[] = []
  const alarms: number[] = []
  const countByType = new Map<EventType, number>()
  const countByFamily = new Map<Family, number>()
  const held = createHeldCalls()

  function count(event: SessionEvent, index: number) {
    const family = familyOfAny(event.type)
    countByType.set(event.type, (countByType.get(event.type) ?? 0) + 1)
    countByFamily.set(family, (countByFamily.get(family) ?? 0) + 1)
    if (factsOf(event.type).alarm) alarms.push(index)
    held.look(event)
    const turn = turns.at(-1)
    if (startsTurn(turn, event)) turns.push(startTurn(event, index, turns.length + 1))
    else if (turn) addToTurn(turn, event)
  }

  return {
    events,
    turns,
    alarms,
    countByType,
    countByFamily,
    isWaiting: held.isWaiting,
    append(batch: readonly SessionEvent[]): void {
      for (const event of batch) {
        // A resumed stream may repeat events.
        if (event.id <= (events.at(-1)?.id ?? 0)) continue
        count(event, events.push(event) - 1)
      }
    },
    turnAt(eventIndex: number): TurnSums | undefined {
      const last = turns.at(-1)
      if (last && last.startIndex <= eventIndex) return last
      const after = bisect(turns.length, i => (turns[i]?.startIndex ?? 0) > eventIndex)
      return turns[after - 1]
    },
  }
}

/** The searchable text of each event, built at its first search. */
function searchTexts(events: readonly SessionEvent[]): (index: number) => string {
  const texts: (string | undefined)[] = []
  return index => {
    const event = events[index]
    return (texts[index] ??= event ? searchText(event) : '')
  }
}

/** The number of chunks folded into an event, and the event before them. */
export function foldedBefore(
  { events, filter }: Pick<EventIndex, 'events' | 'filter'>,
  index: number,
): { count: number; before: SessionEvent | undefined } {
  let at = index - 1
  if (!filter.showsDeltas) while (at >= 0 && isDelta(events[at] as SessionEvent)) at -= 1
  return { count: index - 1 - at, before: events[at] }
}

/** The range of missing ids before an event, or null. */
export function gapBefore(
  events: readonly SessionEvent[],
  index: number,
): { from: number; through: number } | null {
  const here = events[index]?.id ?? 1
  const before = events[index - 1]?.id ?? 0
  return here > before + 1 ? { from: before + 1, through: here - 1 } : null
}

/** Position of the first event with this id or a later one; the number of events if there is none. */
export const indexOfId = (events: readonly SessionEvent[], id: number): number =>
  bisect(events.length, i => (events[i]?.id ?? 0) >= id)

/** Position of the first row at or after a key. */
export const positionOf = (rows: readonly RowKey[], key: RowKey): number =>
  bisect(rows.length, i => (rows[i] ?? 0) >= key)

function bisect(length: number, isAtOrPast: (position: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isAtOrPast(middle)) high = middle
    else low = middle + 1
  }
  return low
}
