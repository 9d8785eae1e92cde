/**
 * Cache of the newest events of sessions that this process watches, kept complete although other processes
 * write too. Commits of this process are added directly if they continue the cached events; changes learned
 * otherwise (a notification, the poll) are read from the database once for all watchers.
 */
import { asError, type EventId, type EventType } from '@cairn/protocol'
import { createListeners } from '../engine/listeners.ts'
import type { EventStore, StoredEvent } from '../store.ts'
import type { Report } from './connections.ts'
import { createNewestEvents } from './newest-events.ts'

const PAGE = 512

export type LiveSessions = {
  watch: EventStore['watch']
  read(sessionId: string, after: EventId, limit: number, types?: readonly EventType[]): Promise<StoredEvent[]>
  /** A commit of this process: its events, and the epoch of the session's current lease. */
  committed(sessionId: string, events: StoredEvent[], epoch: number | null): void
  /** The log has grown: `from` is the id of the first new event, `to` of the last. */
  grew(sessionId: string, from: EventId, to: EventId): void
  /** Another process has pruned events. */
  pruned(): void
  watched(): string[]
}

type ReadEvents = (
  sessionId: string,
  after: EventId,
  limit: number,
  types?: readonly EventType[],
) => Promise<StoredEvent[]>

export function createLiveSessions(readEvents: ReadEvents, report: Report): LiveSessions {
  const newest = createNewestEvents()
  /** The last event known to exist, if it has not been read yet. */
  const wanted = new Map<string, EventId>()
  const filling = new Set<string>()
  const readers = createListeners<[epoch: number | null]>(sessionId => {
    newest.drop(sessionId)
    wanted.delete(sessionId)
  })

  /** Reads until everything known to exist is cached. */
  async function fill(sessionId: string, after: EventId): Promise<void> {
    if (filling.has(sessionId)) return
    filling.add(sessionId)
    try {
      for (let from = after; readers.has(sessionId) && from < (wanted.get(sessionId) ?? 0);) {
        const events = await readEvents(sessionId, from, PAGE)
        if (!readers.has(sessionId)) return
        newest.take(sessionId, events)
        from = events.at(-1)?.id ?? wanted.get(sessionId) ?? from
        newest.passOver(sessionId, from)
        readers.call(sessionId, null)
      }
    } catch (error) {
      report('warn', 'reading what another process wrote failed; the slow poll tries again', {
        session_id: sessionId,
        error: asError(error).message,
      })
    } finally {
      filling.delete(sessionId)
    }
  }

  function grew(sessionId: string, from: EventId, to: EventId): void {
    if (!readers.has(sessionId)) return
    const head = newest.head(sessionId)
    if (head !== undefined && to <= head) return
    wanted.set(sessionId, Math.max(to, wanted.get(sessionId) ?? 0))
    void fill(sessionId, head ?? from - 1)
  }

  return {
    watch(sessionId, onChange) {
      newest.open(sessionId)
      return readers.add(sessionId, onChange)
    },
    async read(sessionId, after, limit, types) {
      // A commit that the cache lacks may be the reader's own, which it must find.
      const isBehind = (newest.head(sessionId) ?? 0) < (wanted.get(sessionId) ?? 0)
      const cached = isBehind ? null : newest.read(sessionId, after, limit, types)
      // An apparent end of the log is read again: another process may have written, and its notification may
      // still be on the way.
      return cached !== null && cached.length > 0 ? cached : readEvents(sessionId, after, limit, types)
    },
    committed(sessionId, events, epoch) {
      const first = events[0]
      const last = events.at(-1)
      if (first === undefined || last === undefined || !readers.has(sessionId)) return
      const head = newest.head(sessionId)
      if (head === undefined || (head === first.id - 1 && !filling.has(sessionId))) {
        newest.take(sessionId, events)
        readers.call(sessionId, epoch)
      } else grew(sessionId, first.id, last.id)
    },
    grew,
    pruned: newest.clear,
    watched: () => readers.subjects(),
  }
}
