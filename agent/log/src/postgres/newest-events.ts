/**
 * The newest events of watched sessions, in memory and without gaps: if one would occur, the cache restarts
 * after it.
 */
import type { EventId, EventType } from '@cairn/protocol'
import { createLiveCache } from '../engine/live-cache.ts'
import type { StoredEvent } from '../store.ts'

export type NewestEvents = {
  /** Starts caching the session's events. */
  open(sessionId: string): void
  drop(sessionId: string): void
  clear(): void
  /** The last known event of the session, at which the cache ends; undefined if unknown. */
  head(sessionId: string): EventId | undefined
  take(sessionId: string, events: StoredEvent[]): void
  /** No events remain up to here: they have been pruned. */
  passOver(sessionId: string, to: EventId): void
  /** Null if the page starts before the cached events. */
  read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): StoredEvent[] | null
}

export function createNewestEvents(): NewestEvents {
  const live = createLiveCache()
  const heads = new Map<string, EventId>()
  return {
    open: live.open,
    drop(sessionId) {
      live.drop(sessionId)
      heads.delete(sessionId)
    },
    clear() {
      live.clear()
      heads.clear()
    },
    head: sessionId => heads.get(sessionId),
    take(sessionId, events) {
      const first = events[0]
      const last = events.at(-1)
      if (first === undefined || last === undefined) return
      // Pruning leaves gaps.
      const isWhole = last.id - first.id + 1 === events.length
      if (!isWhole || (heads.has(sessionId) && heads.get(sessionId) !== first.id - 1)) {
        live.drop(sessionId)
        live.open(sessionId)
      }
      if (isWhole) live.append(sessionId, events)
      heads.set(sessionId, last.id)
    },
    passOver: (sessionId, to) => void heads.set(sessionId, to),
    read: live.read,
  }
}
