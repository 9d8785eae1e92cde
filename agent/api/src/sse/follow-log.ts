/**
 * Reads one session's log for all its live readers. `head` is the position up to which it has read. The
 * cursor of a live reader is never below it, so a live reader lacks what comes after `head`, except what it
 * has read by itself.
 */
import type { EventStore } from '@cairn/log'
import { asError, type EventId } from '@cairn/protocol'
import type { Logger } from '../logger.ts'
import { PAGE, type Run, run, runsOf } from './frames.ts'
import type { Reader } from './reader.ts'

export type FollowDeps = {
  store: { events: Pick<EventStore, 'read' | 'watch'> }
  log: Logger
  onDelivered: (events: number) => void
}

export type Follower = {
  /** Adds a live reader, which has everything up to its cursor. */
  include(reader: Reader): void
  /** Called when the last reader has left. */
  stop(): void
}

export function followLog(
  sessionId: string,
  { store, log, onDelivered }: FollowDeps,
  readers: ReadonlySet<Reader>,
  onFull: (reader: Reader) => void,
): Follower {
  let head: EventId = Number.MAX_SAFE_INTEGER
  let stopWatching: (() => void) | null = null
  let isReading = false
  /** The log may have grown since the last read. Without live readers the flag stays set for the next one. */
  let isNudged = false

  async function readOn(): Promise<void> {
    isNudged = true
    if (isReading) return
    isReading = true
    try {
      while (isNudged && isFollowed(readers)) await readPage()
    } catch (error) {
      // Closes the readers' connections, so that they reconnect with their cursors instead of waiting for a
      // log that is no longer read.
      log.error('reading the log for streams failed', {
        session_id: sessionId,
        error: asError(error).message,
      })
      for (const { state, connection } of readers) if (state !== 'history') connection.destroy()
    } finally {
      isReading = false
    }
  }

  async function readPage(): Promise<void> {
    isNudged = false
    const from = head
    const events = await store.events.read(sessionId, from, PAGE)
    // A reader further back joined during the read; this page would leave a gap for it.
    if (head !== from) isNudged = true
    else {
      isNudged ||= events.length === PAGE
      for (const news of runsOf(from, events)) {
        head = news.to
        onDelivered(fanOut(readers, news, onFull))
      }
    }
  }

  return {
    include({ cursor }) {
      // Reading may have advanced since, or may be ahead for readers that requested a future cursor. Go back
      // to where every reader has all events; each skips what it already has.
      if (cursor < head) {
        head = cursor
        stopWatching ??= store.events.watch(sessionId, () => void readOn())
        isNudged = true
      }
      if (isNudged) void readOn()
    },
    stop() {
      stopWatching?.()
      stopWatching = null
      head = Number.MAX_SAFE_INTEGER
    },
  }
}

function isFollowed(readers: ReadonlySet<Reader>): boolean {
  for (const { state } of readers) if (state === 'live' || state === 'behind') return true
  return false
}

/**
 * Writes to each live reader what it lacks: usually the whole run, or a part if it has read ahead. Returns
 * the number of events sent.
 */
function fanOut(readers: ReadonlySet<Reader>, news: Run, onFull: (reader: Reader) => void): number {
  let part = news
  let delivered = 0
  const at = performance.now()
  for (const reader of readers) {
    if (reader.state === 'behind') reader.lag += news.bytes.length
    if (reader.state !== 'live' || reader.cursor >= news.to) continue
    if (reader.cursor <= news.from) part = news
    else if (part.from !== reader.cursor)
      part = run(
        reader.cursor,
        news.events.filter(({ id }) => id > reader.cursor),
      )
    reader.cursor = part.to
    delivered += part.events.length
    if (!reader.connection.write(part, at)) onFull(reader)
  }
  return delivered
}
