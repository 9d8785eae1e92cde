/**
 * The raw socket of one stream, after its headers. It counts what is unsent and when the peer last took
 * something; who writes decides what to do about it. What is large is handed to the socket in slices: of a
 * write the socket says only that all of it is gone, which for a record of megabytes may take a minute.
 */
import type { Socket } from 'node:net'
import type { Exchange } from '../http/exchange.ts'
import { type Chunk, LAST_CHUNK, OPENING } from './frames.ts'
import type { SendQueues } from './send-queues.ts'

export type Connection = {
  /** False when more than LOW_WATER is unsent now: wait for `onRoom`. */
  write(chunk: Chunk): boolean
  hasRoom(): boolean
  /** Bytes that the peer has not taken. */
  unsent(): number
  /** Ends the body and the connection in order. */
  end(last?: Chunk): void
  /** Cuts it off. */
  destroy(): void
  /** performance.now() of the last write, for the heartbeat. */
  lastWriteAt: number
  /** performance.now() when the peer was last seen to have taken bytes, or had taken all. */
  lastProgressAt: number
  /** For how long the peer has acknowledged nothing, as far as these looks know; 0 at the first. */
  lookAtPeer(queues: SendQueues, at: number): number
  /**
   * Sees whether the peer took something since the last look. A callback a write would say it at once, at a
   * tenth of what the write costs.
   */
  look(at: number): void
  onRoom: () => void
  onClose: () => void
}

/** A socket holding more than this is not written to; its reader keeps a cursor instead of a queue. */
const LOW_WATER = 256 * 1024
const SLICE = 64 * 1024

/** Sends the headers and takes the socket over: from here on nothing of node:http writes to it. */
export function takeConnection(exchange: Exchange): Connection {
  const { req, res } = exchange
  const socket = req.socket
  const isChunked = req.httpVersion === '1.1'
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-request-id': exchange.id,
    'x-content-type-options': 'nosniff',
    ...(exchange.cookies.length > 0 ? { 'set-cookie': exchange.cookies } : {}),
    ...(isChunked ? { 'transfer-encoding': 'chunked' } : { connection: 'close' }),
  })
  res.flushHeaders()
  return overSocket(socket, isChunked)
}

function overSocket(socket: Socket, isChunked: boolean): Connection {
  socket.setTimeout(0)
  socket.setNoDelay(true)
  let isOver = false
  /** `end` was called and waits for what is to be written before. */
  let isEnding = false
  /** What the socket was not given yet: at most one large write and what small ones came after it. */
  const rest: Buffer[] = []
  let restLength = 0
  let given = 0
  let taken = 0
  /** The most that the peer was seen to have acknowledged, and when. */
  let acknowledged = -1
  let acknowledgedAt = 0

  function give(part: Buffer): void {
    given += part.length
    socket.write(part)
  }
  function giveRest(): void {
    while (rest[0] !== undefined && socket.writableLength < LOW_WATER) {
      const slice = rest[0].subarray(0, SLICE)
      if (slice.length === rest[0].length) rest.shift()
      else rest[0] = rest[0].subarray(SLICE)
      restLength -= slice.length
      give(slice)
    }
    if (isEnding && restLength === 0) finish()
  }
  function finish(): void {
    isOver = true
    if (isChunked) socket.write(LAST_CHUNK)
    // A client that has read all of it and does not close must not hold up a server that drains.
    socket.destroySoon()
  }

  const connection: Connection = {
    lastWriteAt: performance.now(),
    lastProgressAt: performance.now(),
    onRoom: () => {},
    onClose: () => {},
    write({ bytes, bodyStart, bodyEnd }) {
      if (isOver || isEnding) return false
      const at = performance.now()
      if (connection.unsent() === 0) connection.lastProgressAt = at
      connection.lastWriteAt = at
      const part = isChunked ? bytes : bytes.subarray(bodyStart, bodyEnd)
      if (restLength === 0 && part.length <= LOW_WATER) give(part)
      else {
        rest.push(part)
        restLength += part.length
        giveRest()
      }
      return connection.hasRoom()
    },
    look(at) {
      const now = given - socket.writableLength
      if (now > taken) connection.lastProgressAt = at
      taken = now
    },
    lookAtPeer(queues, at) {
      const seen = taken - (queues(socket) ?? taken)
      if (seen > acknowledged || acknowledgedAt === 0) {
        acknowledged = seen
        acknowledgedAt = at
      }
      return at - acknowledgedAt
    },
    hasRoom: () => !isOver && restLength === 0 && socket.writableLength <= LOW_WATER,
    unsent: () => socket.writableLength + restLength,
    end(last) {
      if (isOver || isEnding) return
      if (last !== undefined) connection.write(last)
      isEnding = true
      giveRest()
    },
    destroy: () => socket.destroy(),
  }
  socket.on('drain', () => {
    giveRest()
    if (connection.hasRoom()) connection.onRoom()
  })
  socket.on('close', () => {
    isOver = true
    connection.onClose()
  })
  connection.write(OPENING)
  return connection
}
