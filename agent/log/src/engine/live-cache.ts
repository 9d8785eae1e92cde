/**
 * In-memory cache of the newest events of watched sessions: a thousand readers of one session share one text
 * per event and one array per page, and none of them queries SQLite.
 */
import type { EventId, EventType } from '@cairn/protocol'
import type { StoredEvent } from '../store.ts'

const MAX_EVENTS = 512
const MAX_CHARS = 1024 * 1024
/** Over all sessions; beyond it a session keeps only its newest commit. */
const MAX_TOTAL_CHARS = 256 * 1024 * 1024

type Ring = {
  events: StoredEvent[]
  chars: number
  /** The last page returned, for the next reader at the same position. */
  page: { after: EventId; limit: number; events: StoredEvent[] } | null
}

const empty = (): Ring => ({ events: [], chars: 0, page: null })

export type LiveCache = {
  /** Starts caching the session's events. */
  open(sessionId: string): void
  drop(sessionId: string): void
  clear(): void
  has(sessionId: string): boolean
  /** Must be called for every committed event of an open session, in order. */
  append(sessionId: string, events: StoredEvent[]): void
  /** Null if the page starts before the cached events. */
  read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): StoredEvent[] | null
}

export function createLiveCache(maxTotal: number = MAX_TOTAL_CHARS): LiveCache {
  const rings = new Map<string, Ring>()
  let total = 0
  return {
    open(sessionId) {
      if (!rings.has(sessionId)) rings.set(sessionId, empty())
    },
    drop(sessionId) {
      total -= rings.get(sessionId)?.chars ?? 0
      rings.delete(sessionId)
    },
    clear() {
      for (const sessionId of rings.keys()) rings.set(sessionId, empty())
      total = 0
    },
    has: sessionId => rings.has(sessionId),
    append(sessionId, events) {
      const ring = rings.get(sessionId)
      if (ring === undefined) return
      ring.page = null
      const before = ring.chars
      for (const event of events) {
        ring.events.push(event)
        ring.chars += event.json.length
      }
      let cut = 0
      const left = () => ring.events.length - cut
      const tooLarge = () =>
        (ring.chars > MAX_CHARS && left() > 1) ||
        (total + ring.chars - before > maxTotal && left() > events.length)
      while (left() > MAX_EVENTS || tooLarge()) ring.chars -= ring.events[cut++]?.json.length ?? 0
      if (cut > 0) ring.events.splice(0, cut)
      total += ring.chars - before
    },
    read(sessionId, after, limit, types) {
      const ring = rings.get(sessionId)
      const first = ring?.events[0]?.id
      if (ring === undefined || first === undefined || after < first - 1) return null
      if (types !== undefined)
        return ring.events.filter(event => event.id > after && types.includes(event.type)).slice(0, limit)
      if (ring.page?.after === after && ring.page.limit === limit) return ring.page.events
      // Ids in a ring are contiguous, because pruning clears it.
      const from = after - first + 1
      const events = ring.events.slice(from, from + limit)
      ring.page = { after, limit, events }
      return events
    },
  }
}
