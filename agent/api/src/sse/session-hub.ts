/**
 * All readers of one session's log in this process. The hub follows the log once for all live readers: one
 * read, one encoding, one write per reader, however much was committed.
 */
import { asError, type EventId } from '@cairn/protocol'
import { type FollowDeps, followLog } from './follow-log.ts'
import { catchUp, drained, moveReader, openReader, type Reader, type Sink } from './reader.ts'

/** A reader that lacks more than this and makes no progress is disconnected. */
export const MAX_UNSENT = 1024 * 1024

export type SessionHub = {
  join(connection: Sink, after: EventId): Reader
  /** Removes a reader; the hub ends with its last one. */
  leave(reader: Reader): void
  /** Bytes of the log that a reader lacks, as far as the hub knows. */
  lacks(reader: Reader): number
}

export function createSessionHub(sessionId: string, deps: FollowDeps & { onEmpty: () => void }): SessionHub {
  const { store, log, onDelivered, onEmpty } = deps
  const readers = new Set<Reader>()
  const follower = followLog(sessionId, deps, readers, reader => {
    moveReader(reader, 'behind')
    void drained(reader.connection).then(() => readAlone(reader))
  })

  /** Reads until the end of the log; from then on the hub reads for the reader. */
  async function readAlone(reader: Reader): Promise<void> {
    try {
      const read = (after: EventId, limit: number) => store.events.read(sessionId, after, limit)
      if (!(await catchUp(reader, read, onDelivered))) return
      moveReader(reader, 'live')
      reader.lag = 0
      follower.include(reader)
    } catch (error) {
      log.error('reading the log for a stream failed', {
        session_id: sessionId,
        error: asError(error).message,
      })
      reader.connection.destroy()
    }
  }

  return {
    join(connection, after) {
      const reader = openReader(connection, after)
      readers.add(reader)
      void readAlone(reader)
      return reader
    },
    leave(reader) {
      if (!readers.delete(reader)) return
      moveReader(reader, 'gone')
      reader.connection.onRoom()
      if (readers.size > 0) return
      follower.stop()
      onEmpty()
    },
    lacks: reader => reader.connection.unsent() + reader.lag,
  }
}
