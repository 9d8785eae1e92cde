/**
 * All readers of one session's log in this process.
 *
 *   catching up → live        the reader has everything that the log held when it looked
 *   live → catching up        its socket is full; it keeps its cursor and reads for itself when there is room
 *   any → gone                the client left, was cut off, or the server drains
 *
 * The hub follows the log once for all who are live: one read, one encoding, one write a reader, whatever has
 * been committed meanwhile. `head` says how far it has read; a live reader's cursor is never below it, so
 * what comes after `head` is what a live reader lacks, except what it has seen already by its own reading.
 */
import type { LogStore, StoredEvent } from '@cairn/log'
import { asError, type EventId } from '@cairn/protocol'
import type { Logger } from '../deps.ts'
import type { Connection } from './connection.ts'
import { type Run, run } from './frames.ts'

/** Events a read; what they weigh is bounded by RUN_BYTES. */
const PAGE = 256
/** Characters a write; one larger event is a write of its own. */
const RUN_BYTES = 64 * 1024
/** A reader lacking more than this that takes nothing is cut off. */
export const MAX_UNSENT = 1024 * 1024

type Reader = {
  connection: Connection
  cursor: EventId
  isLive: boolean
  /**
   * Characters committed to the log since this reader fell behind while live; 0 for one that keeps up or
   * reads history.
   */
  lag: number
}
export type SessionHub = {
  join(connection: Connection, after: EventId): Reader
  /** Takes a reader out; the hub ends itself with its last one. */
  leave(reader: Reader): void
  /** Bytes that a reader lacks although the log has them, as far as the hub knows. */
  lacks(reader: Reader): number
}
type HubDeps = { store: LogStore; log: Logger; onDelivered: (events: number) => void; onEmpty: () => void }

export function createSessionHub(
  sessionId: string,
  { store, log, onDelivered, onEmpty }: HubDeps,
): SessionHub {
  const live = new Set<Reader>()
  /** Those who fell behind while live and wait for room. */
  const behind = new Set<Reader>()
  let readers = 0
  let head: EventId = Number.MAX_SAFE_INTEGER
  let stopWatching: (() => void) | null = null
  let isPumping = false
  let isNudged = false

  /**
   * Writes to each live reader what it lacks: all of it for nearly everyone, a part for those who have read
   * ahead.
   */
  function fanOut(news: Run): void {
    let part = news
    let delivered = 0
    for (const reader of live) {
      if (reader.cursor >= news.to) continue
      if (reader.cursor <= news.from) part = news
      else if (part.from !== reader.cursor)
        part = run(
          reader.cursor,
          news.events.filter(({ id }) => id > reader.cursor),
        )
      reader.cursor = part.to
      delivered += part.events.length
      if (!reader.connection.write(part)) fallBehind(reader)
    }
    onDelivered(delivered)
  }

  function fallBehind(reader: Reader): void {
    live.delete(reader)
    behind.add(reader)
    reader.isLive = false
    reader.connection.onRoom = () => {
      reader.connection.onRoom = () => {}
      void catchUp(reader)
    }
  }

  /** Follows the log for all live readers until it has no more to give. */
  async function pump(): Promise<void> {
    isNudged = true
    if (isPumping) return
    isPumping = true
    try {
      while (isNudged && live.size + behind.size > 0) {
        isNudged = false
        const from = head
        const events = await store.read(sessionId, from, PAGE)
        if (head !== from) {
          // Someone joined further back while we read; what was read would leave a gap for them.
          isNudged = true
          continue
        }
        isNudged ||= events.length === PAGE
        for (const news of runsOf(from, events)) {
          head = news.to
          for (const reader of behind) reader.lag += news.bytes.length
          fanOut(news)
        }
      }
    } catch (thrown) {
      // The readers' connections end, so that they come back with their cursors instead of waiting for a log
      // that nobody reads.
      log.error('reading the log for its streams failed', {
        session_id: sessionId,
        error: asError(thrown).message,
      })
      for (const reader of [...live, ...behind]) reader.connection.destroy()
    } finally {
      isPumping = false
    }
  }

  /** Reads for one reader alone, as fast as its socket takes it, until the log has no more. */
  async function catchUp(reader: Reader): Promise<void> {
    try {
      for (;;) {
        const events = await store.read(sessionId, reader.cursor, PAGE)
        if (events.length === 0) return goLive(reader)
        for (const history of runsOf(reader.cursor, events)) {
          if (!reader.connection.hasRoom()) await room(reader.connection)
          if (!members.has(reader)) return
          reader.cursor = history.to
          onDelivered(history.events.length)
          reader.connection.write(history)
        }
      }
    } catch (thrown) {
      log.error('reading the log for a stream failed', {
        session_id: sessionId,
        error: asError(thrown).message,
      })
      reader.connection.destroy()
    }
  }

  function goLive(reader: Reader): void {
    if (!members.has(reader)) return
    behind.delete(reader)
    live.add(reader)
    reader.isLive = true
    reader.lag = 0
    // Whatever the log held up to the cursor has been sent. The hub may have read further since, or stand
    // further for readers that asked for what is yet to come: it goes back to where nobody lacks anything,
    // and each skips what it has.
    if (reader.cursor < head) {
      head = reader.cursor
      stopWatching ??= store.watch(sessionId, () => void pump())
      isNudged = true
    }
    // A nudge that came while nobody was live was kept for whoever comes next.
    if (isNudged) void pump()
  }

  const members = new Set<Reader>()
  return {
    join(connection, after) {
      const reader: Reader = { connection, cursor: after, isLive: false, lag: 0 }
      members.add(reader)
      readers++
      void catchUp(reader)
      return reader
    },
    leave(reader) {
      if (!members.delete(reader)) return
      live.delete(reader)
      behind.delete(reader)
      reader.connection.onRoom()
      if (--readers > 0) return
      stopWatching?.()
      stopWatching = null
      head = Number.MAX_SAFE_INTEGER
      onEmpty()
    },
    lacks: reader => reader.connection.unsent() + reader.lag,
  }
}

const room = (connection: Connection): Promise<void> =>
  new Promise(resolve => {
    connection.onRoom = () => {
      connection.onRoom = () => {}
      resolve()
    }
  })

/** Cuts a page into runs of bearable size, each one write. */
function* runsOf(from: EventId, events: readonly StoredEvent[]): Generator<Run> {
  let start = 0
  let size = 0
  let after = from
  for (const [index, event] of events.entries()) {
    size += event.json.length + event.type.length + 32
    if (size < RUN_BYTES && index < events.length - 1) continue
    const part = run(after, events.slice(start, index + 1))
    after = part.to
    start = index + 1
    size = 0
    yield part
  }
}
