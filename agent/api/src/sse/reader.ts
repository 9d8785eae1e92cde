/**
 * A client that reads a session's log over a stream.
 *
 *   history   reads by itself from its cursor on                   end of the log → live
 *   live      gets what the hub reads for all readers              its socket is full → behind
 *   behind    waits for room, then reads by itself                 end of the log → live
 *   gone      disconnected by either side, or the server drains    (from any state)
 */
import { checkMove, type EventId } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import type { Connection } from './connection.ts'
import { PAGE, runsOf } from './frames.ts'

type ReaderState = 'history' | 'live' | 'behind' | 'gone'

/** The part of a connection that a reader needs. */
export type Sink = Pick<Connection, 'write' | 'hasRoom' | 'unsent' | 'destroy' | 'onRoom'>

export type Reader = {
  readonly connection: Sink
  /** A plain field, because it is read for every event of every reader; `moveReader` changes it. */
  state: ReaderState
  /** The last event written to the reader. */
  cursor: EventId
  /** Characters committed to the log since the reader fell behind; 0 if it keeps up or reads history. */
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

/** Throws unless the head comment of this file lists the transition. */
export function moveReader(reader: Reader, next: ReaderState): void {
  checkMove<ReaderState>('reader', MOVES, reader.state, next)
  reader.state = next
}

/** A function, because TypeScript would narrow the field across the awaits. */
const isGone = ({ state }: Reader): boolean => state === 'gone'

/**
 * Writes the log to a single reader, as fast as its socket accepts it; returns false if the reader is gone.
 */
export async function catchUp(
  reader: Reader,
  read: (after: EventId, limit: number) => ReturnType<LogStore['events']['read']>,
  onDelivered: (events: number) => void,
): Promise<boolean> {
  const { connection } = reader
  for (;;) {
    const events = await read(reader.cursor, PAGE)
    if (isGone(reader)) return false
    if (events.length === 0) return true
    for (const history of runsOf(reader.cursor, events)) {
      // Another writer of the same connection may have used the room that woke this one.
      while (!connection.hasRoom() && !isGone(reader)) await drained(connection)
      if (isGone(reader)) return false
      reader.cursor = history.to
      onDelivered(history.events.length)
      connection.write(history)
    }
  }
}

/** Resolves when the socket has room again, or is closed. */
export const drained = (connection: Sink): Promise<void> =>
  new Promise(resolve => {
    connection.onRoom = () => {
      connection.onRoom = () => {}
      resolve()
    }
  })
