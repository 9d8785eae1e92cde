/**
 * Reads one session's log for all its readers who are live. `head` says how far it has read; a live reader's
 * cursor is never below it, so what comes after `head` is what a live reader lacks, except what it has seen
 * already by its own reading.
 */
import type { LogStore } from '@cairn/log'
import { asError, type EventId } from '@cairn/protocol'
import type { Logger } from '../deps.ts'
import { PAGE, type Run, run, runsOf } from './frames.ts'
import type { Reader } from './reader.ts'

export type FollowDeps = { store: LogStore; log: Logger; onDelivered: (events: number) => void }

export type Follower = {
  /** A reader that is live from now on, with whatever the log held up to its cursor. */
  include(reader: Reader): void
  /** Nobody is left. */
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
  /**
   * The log may have grown since it was last read. While nobody is live it stays so, for whoever comes next.
   */
  let isNudged = false

  async function readOn(): Promise<void> {
    isNudged = true
    if (isReading) return
    isReading = true
    try {
      while (isNudged && isFollowed(readers)) await readPage()
    } catch (thrown) {
      // The readers' connections end, so that they come back with their cursors instead of waiting for a log
      // that nobody reads.
      log.error('reading the log for its streams failed', {
        session_id: sessionId,
        error: asError(thrown).message,
      })
      for (const { state, connection } of readers) if (state !== 'history') connection.destroy()
    } finally {
      isReading = false
    }
  }

  async function readPage(): Promise<void> {
    isNudged = false
    const from = head
    const events = await store.read(sessionId, from, PAGE)
    // Someone joined further back while we read; what was read would leave a gap for them.
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
      // The log may have been read further since, or stand further for readers that asked for what is yet to
      // come: it goes back to where nobody lacks anything, and each skips what it has.
      if (cursor < head) {
        head = cursor
        stopWatching ??= store.watch(sessionId, () => void readOn())
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
 * Writes to each live reader what it lacks: all of it for nearly everyone, a part for those who have read
 * ahead. Returns how many events went out.
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
