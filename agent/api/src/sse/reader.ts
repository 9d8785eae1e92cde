/**
 * One who reads a session's log over a stream.
 *
 *   history   reads for itself from its cursor on      nothing more in the log → live
 *   live      gets what the hub reads for all          its socket is full → behind
 *   behind    waits for space, then reads for itself   nothing more in the log → live
 *   gone      left, was cut off, or the server drains  (from any of them)
 */
import { checkedState, type CheckedState, type EventId } from '@cairn/protocol'
import type { LogStore } from '@cairn/log'
import type { Connection } from './connection.ts'
import { PAGE, runsOf } from './frames.ts'

type ReaderState = 'history' | 'live' | 'behind' | 'gone'

export type Reader = {
  readonly connection: Connection
  readonly state: CheckedState<ReaderState>
  /** The last event that was written to it. */
  cursor: EventId
  /** Characters committed to the log since it fell behind; 0 for one that keeps up or reads history. */
  lag: number
}

export const openReader = (connection: Connection, after: EventId): Reader => ({
  connection,
  cursor: after,
  lag: 0,
  state: checkedState<ReaderState>('reader', 'history', {
    history: ['live', 'gone'],
    live: ['behind', 'gone'],
    behind: ['live', 'gone'],
    gone: [],
  }),
})

/** Writes what the log has for one reader alone, as fast as its socket takes it; false: it is gone. */
export async function catchUp(
  reader: Reader,
  read: (after: EventId, limit: number) => ReturnType<LogStore['read']>,
  onDelivered: (events: number) => void,
): Promise<boolean> {
  const { connection, state } = reader
  for (;;) {
    const events = await read(reader.cursor, PAGE)
    if (state.current() === 'gone') return false
    if (events.length === 0) return true
    for (const history of runsOf(reader.cursor, events)) {
      if (!connection.hasRoom()) await drained(connection)
      if (state.current() === 'gone') return false
      reader.cursor = history.to
      onDelivered(history.events.length)
      connection.write(history)
    }
  }
}

/** Resolves when the socket can be written to again, or is closed. */
export const drained = (connection: Connection): Promise<void> =>
  new Promise(resolve => {
    connection.onRoom = () => {
      connection.onRoom = () => {}
      resolve()
    }
  })
