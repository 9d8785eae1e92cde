/**
 * Where to cut a conversation for compaction: the older part becomes a summary, the newest messages stay.
 * Pure. A cut is named by an event id (`through_event_id`), so it is only possible where every id before is
 * smaller than every id after, and not between a call and its result.
 */
import type { ConversationEntry } from '@cairn/state'
import type { EventId } from '@cairn/protocol'
import { tokensOfEntry } from './size.ts'
import { isSummary } from './summary-message.ts'

export type Cut = {
  through_event_id: EventId
  older: readonly ConversationEntry[]
  kept: readonly ConversationEntry[]
}

/** Minimum number of messages kept, unless they alone are too large. */
export const KEPT_MESSAGES = 4
/** Maximum fractions of the window and of the conversation for the kept messages. */
const KEPT_OF_WINDOW = 0.2
const KEPT_OF_CONVERSATION = 0.3
/** Above this fraction even the newest messages are summarized. */
const TOO_MUCH_OF_WINDOW = 0.4

/**
 * Null if nothing is gained: the older part has fewer than `least` tokens, or is only the previous summary.
 */
export function chooseCut(entries: readonly ConversationEntry[], window: number, least = 1): Cut | null {
  const sizes = entries.map(tokensOfEntry)
  const after = sumsFromEnd(sizes)
  const total = after[0] ?? 0
  const places = cutPlaces(entries)
  const keptFrom = (place: number): number => after[place] ?? 0
  const allowed = Math.min(window * KEPT_OF_WINDOW, total * KEPT_OF_CONVERSATION)
  let place = places.find(at => keptFrom(at) <= allowed)
  if (place === undefined) return null
  if (entries.length - place < KEPT_MESSAGES) {
    const bearable = places.filter(at => keptFrom(at) <= window * TOO_MUCH_OF_WINDOW)
    place = bearable.findLast(at => at <= entries.length - KEPT_MESSAGES) ?? bearable[0] ?? place
  }
  const older = entries.slice(0, place)
  const [first] = older
  if (
    first === undefined ||
    (older.length === 1 && isSummary(first.message)) ||
    total - keptFrom(place) < least
  )
    return null
  return {
    through_event_id: Math.max(...older.map(entry => entry.event_id)),
    older,
    kept: entries.slice(place),
  }
}

/** Indices before which a cut is possible, ascending; the last one keeps nothing. */
export function cutPlaces(entries: readonly ConversationEntry[]): number[] {
  const owed = new Set<string>()
  const clean = entries.map(({ message }) => {
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) owed.add(call.id)
    else if (message.role === 'tool') owed.delete(message.tool_call_id)
    return owed.size === 0
  })
  const lowestAfter = Array.from({ length: entries.length + 1 }, () => Number.POSITIVE_INFINITY)
  for (let index = entries.length - 1; index >= 0; index--)
    lowestAfter[index] = Math.min(lowestAfter[index + 1]!, entries[index]!.event_id)
  const places: number[] = []
  let highest = 0
  for (const [index, { event_id }] of entries.entries()) {
    highest = Math.max(highest, event_id)
    if (clean[index] === true && highest < lowestAfter[index + 1]!) places.push(index + 1)
  }
  return places
}

/** Suffix sums. */
function sumsFromEnd(sizes: readonly number[]): number[] {
  const sums = Array.from({ length: sizes.length + 1 }, () => 0)
  for (let index = sizes.length - 1; index >= 0; index--) sums[index] = sums[index + 1]! + sizes[index]!
  return sums
}
