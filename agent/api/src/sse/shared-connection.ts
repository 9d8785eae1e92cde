/** Shares a connection between several writers, each of which waits for room by itself. */
import type { Sink } from './reader.ts'

/** Returns a function that adds a writer. A writer that waits is woken through its own `onRoom`. */
export function shareConnection(connection: Sink): () => Sink {
  const sinks: Sink[] = []
  connection.onRoom = () => {
    for (const sink of sinks) sink.onRoom()
    // The first writer gets the room and moves to the end, so that a long history does not delay the other
    // sessions.
    const first = sinks.shift()
    if (first !== undefined) sinks.push(first)
  }
  return () => {
    const sink: Sink = {
      write: (part, at) => connection.write(part, at),
      hasRoom: () => connection.hasRoom(),
      unsent: () => connection.unsent(),
      destroy: () => connection.destroy(),
      onRoom: () => {},
    }
    sinks.push(sink)
    return sink
  }
}
