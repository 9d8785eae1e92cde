/**
 * Bytes queued for a socket. Large buffers are passed to the socket in slices: it reports only the completion
 * of a whole write, which may take a minute for a record of megabytes.
 */
import type { Socket } from 'node:net'

/** A socket that holds more than this is not written to; its reader keeps a cursor instead of a queue. */
const LOW_WATER = 256 * 1024
const SLICE = 64 * 1024

/** A class, not a closure, for the reason given in connection.ts. */
export class Outgoing {
  readonly #socket: Socket
  /** At most one large write, and the small ones that came after it. */
  readonly #rest: Buffer[] = []
  #restLength = 0
  #given = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Queues the bytes; returns whether there is room for more. */
  add(part: Buffer): boolean {
    if (this.#restLength === 0 && part.length <= LOW_WATER) this.#give(part)
    else {
      this.#rest.push(part)
      this.#restLength += part.length
      this.flush()
    }
    return this.hasRoom()
  }

  /** Passes queued bytes to the socket, as far as it accepts them. */
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

  /** True if nothing is queued here and the socket holds little. */
  hasRoom(): boolean {
    return this.#restLength === 0 && this.#socket.writableLength <= LOW_WATER
  }

  /** Bytes queued here. */
  waiting(): number {
    return this.#restLength
  }

  /** Unsent bytes: queued here plus buffered by the socket. */
  unsent(): number {
    return this.#socket.writableLength + this.#restLength
  }

  /** Bytes that have left this process since the start. */
  gone(): number {
    return this.#given - this.#socket.writableLength
  }

  #give(part: Buffer): void {
    this.#given += part.length
    this.#socket.write(part)
  }
}
