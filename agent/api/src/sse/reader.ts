/**
 * One who reads a session's log over a stream.
 *
 *   history   reads for itself from its cursor on      nothing more in the log → live
 *   live      gets what the hub reads for all          its socket is full → behind
 *   behind    waits for space, then reads for itself   nothing more in the log → live
 *   gone      left, was cut off, or the server drains  (from any of them)
 */
import { checkMove, type EventId } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import type { Connection } from './connection.ts'
import { PAGE, runsOf } from './frames.ts'

type ReaderState = 'history' | 'live' | 'behind' | 'gone'

/** What a reader needs of a connection. */
export type Sink = Pick<Connection, 'write' | 'hasRoom' | 'unsent' | 'destroy' | 'onRoom'>

export type Reader = {
  readonly connection: Sink
  /** A plain field, for it is read for every event of every reader; `moveReader` changes it. */
  state: ReaderState
  /** The last event that was written to it. */
  cursor: EventId
  /** Characters committed to the log since it fell behind; 0 for one that keeps up or reads history. */
  lag: number
}

export const openReader = (connection: Sink, after: EventId): Reader => ({
  connection,
  cursor: after,
  lag: 0,
  state: 'history',
})

const MOVES = {
  history: ['live', 'gone'],
  live: ['behind', 'gone'],
  behind: ['live', 'gone'],
  gone: [],
} satisfies Record<ReaderState, ReaderState[]>

/** Throws where the head of this file does not list the move. */
export function moveReader(reader: Reader, next: ReaderState): void {
  checkMove<ReaderState>('reader', MOVES, reader.state, next)
  reader.state = next
}

/** Asked anew after each wait: the compiler would hold the field to be what it was before. */
const isGone = ({ state }: Reader): boolean => state === 'gone'

/** Writes what the log has for one reader alone, as fast as its socket takes it; false: it is gone. */
export async function catchUp(
  reader: Reader,
  read: (after: EventId, limit: number) => ReturnType<LogStore['read']>,
  onDelivered: (events: number) => void,
): Promise<boolean> {
  const { connection } = reader
  for (;;) {
    const events = await read(reader.cursor, PAGE)
    if (isGone(reader)) return false
    if (events.length === 0) return true
    for (const history of runsOf(reader.cursor, events)) {
      // Another writer of the same connection may have taken the room that woke this one.
      while (!connection.hasRoom() && !isGone(reader)) await drained(connection)
      if (isGone(reader)) return false
      reader.cursor = history.to
      onDelivered(history.events.length)
      connection.write(history)
    }
  }
}

/** Resolves when the socket can be written to again, or is closed. */
export const drained = (connection: Sink): Promise<void> =>
  new Promise(resolve => {
    connection.onRoom = () => {
      connection.onRoom = () => {}
      resolve()
    }
  })
