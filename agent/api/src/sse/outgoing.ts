/**
 * Bytes on their way to a socket. What is large is handed to the socket in slices: of a write the socket says
 * only that all of it is gone, which for a record of megabytes may take a minute.
 */
import type { Socket } from 'node:net'

/** A socket holding more than this is not written to; its reader keeps a cursor instead of a queue. */
const LOW_WATER = 256 * 1024
const SLICE = 64 * 1024

export type Outgoing = {
  /** Says whether there is room for more. */
  add(part: Buffer): boolean
  /** Gives the socket what it was not given yet, as far as it takes it. */
  flush(): void
  /** Nothing waits here, and the socket holds little. */
  hasRoom(): boolean
  /** Bytes that wait here. */
  waiting(): number
  /** Those, and what the socket holds. */
  unsent(): number
  /** Bytes that have left this process, since the beginning. */
  gone(): number
}

export function createOutgoing(socket: Socket): Outgoing {
  /** At most one large write and what small ones came after it. */
  const rest: Buffer[] = []
  let restLength = 0
  let given = 0

  function give(part: Buffer): void {
    given += part.length
    socket.write(part)
  }
  function flush(): void {
    while (rest[0] !== undefined && socket.writableLength < LOW_WATER) {
      const slice = rest[0].subarray(0, SLICE)
      if (slice.length === rest[0].length) rest.shift()
      else rest[0] = rest[0].subarray(SLICE)
      restLength -= slice.length
      give(slice)
    }
  }

  const hasRoom = (): boolean => restLength === 0 && socket.writableLength <= LOW_WATER

  return {
    add(part) {
      if (restLength === 0 && part.length <= LOW_WATER) give(part)
      else {
        rest.push(part)
        restLength += part.length
        flush()
      }
      return hasRoom()
    },
    flush,
    hasRoom,
    waiting: () => restLength,
    unsent: () => socket.writableLength + restLength,
    gone: () => given - socket.writableLength,
  }
}
