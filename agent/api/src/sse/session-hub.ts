/**
 * All readers of one session's log in this process. The hub follows the log once for all who are live: one
 * read, one encoding, one write a reader, whatever has been committed meanwhile.
 */
import { asError, type EventId } from '@cairn/protocol'
import { type FollowDeps, followLog } from './follow-log.ts'
import { catchUp, drained, moveReader, openReader, type Reader, type Sink } from './reader.ts'

/** A reader lacking more than this that takes nothing is cut off. */
export const MAX_UNSENT = 1024 * 1024

export type SessionHub = {
  join(connection: Sink, after: EventId): Reader
  /** Takes a reader out; the hub ends itself with its last one. */
  leave(reader: Reader): void
  /** Bytes that a reader lacks although the log has them, as far as the hub knows. */
  lacks(reader: Reader): number
}

export function createSessionHub(sessionId: string, deps: FollowDeps & { onEmpty: () => void }): SessionHub {
  const { store, log, onDelivered, onEmpty } = deps
  const readers = new Set<Reader>()
  const follower = followLog(sessionId, deps, readers, reader => {
    moveReader(reader, 'behind')
    void drained(reader.connection).then(() => readAlone(reader))
  })

  /** Until the log has no more; from then on the hub reads for it. */
  async function readAlone(reader: Reader): Promise<void> {
    try {
      const read = (after: EventId, limit: number) => store.read(sessionId, after, limit)
      if (!(await catchUp(reader, read, onDelivered))) return
      moveReader(reader, 'live')
      reader.lag = 0
      follower.include(reader)
    } catch (thrown) {
      log.error('reading the log for a stream failed', {
        session_id: sessionId,
        error: asError(thrown).message,
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
