/**
 * Bytes on their way to a socket. What is large is handed to the socket in slices: of a write the socket says
 * only that all of it is gone, which for a record of megabytes may take a minute.
 */
import type { Socket } from 'node:net'

/** A socket holding more than this is not written to; its reader keeps a cursor instead of a queue. */
const LOW_WATER = 256 * 1024
const SLICE = 64 * 1024

/** A class, as its connection is: see there. */
export class Outgoing {
  readonly #socket: Socket
  /** At most one large write and what small ones came after it. */
  readonly #rest: Buffer[] = []
  #restLength = 0
  #given = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Says whether there is room for more. */
  add(part: Buffer): boolean {
    if (this.#restLength === 0 && part.length <= LOW_WATER) this.#give(part)
    else {
      this.#rest.push(part)
      this.#restLength += part.length
      this.flush()
    }
    return this.hasRoom()
  }

  /** Gives the socket what it was not given yet, as far as it takes it. */
  flush(): void {
    const rest = this.#rest
    while (rest[0] !== undefined && this.#socket.writableLength < LOW_WATER) {
      const slice = rest[0].subarray(0, SLICE)
      if (slice.length === rest[0].length) rest.shift()
      else rest[0] = rest[0].subarray(SLICE)
      this.#restLength -= slice.length
      this.#give(slice)
    }
  }

  /** Nothing waits here, and the socket holds little. */
  hasRoom(): boolean {
    return this.#restLength === 0 && this.#socket.writableLength <= LOW_WATER
  }

  /** Bytes that wait here. */
  waiting(): number {
    return this.#restLength
  }

  /** Those, and what the socket holds. */
  unsent(): number {
    return this.#socket.writableLength + this.#restLength
  }

  /** Bytes that have left this process, since the beginning. */
  gone(): number {
    return this.#given - this.#socket.writableLength
  }

  #give(part: Buffer): void {
    this.#given += part.length
    this.#socket.write(part)
  }
}
