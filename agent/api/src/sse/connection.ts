/**
 * The raw socket of one stream, after its headers. It counts what is unsent and when the peer last took
 * something; who writes decides what to do about it.
 */
import type { Socket } from 'node:net'
import type { Exchange } from '../http/exchange.ts'
import { type Chunk, LAST_CHUNK, OPENING } from './frames.ts'

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
  /**
   * Sees whether the peer took something since the last look. A callback a write would say it at once, at a
   * tenth of what the write costs.
   */
  look(at: number): void
  onRoom: () => void
  onClose: () => void
}

/** A socket holding more than this is not written to; its reader keeps a cursor instead of a queue. */
export const LOW_WATER = 256 * 1024

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
  let given = 0
  let taken = 0
  const connection: Connection = {
    lastWriteAt: performance.now(),
    lastProgressAt: performance.now(),
    onRoom: () => {},
    onClose: () => {},
    write({ bytes, bodyStart, bodyEnd }) {
      if (isOver) return false
      const at = performance.now()
      if (socket.writableLength === 0) connection.lastProgressAt = at
      connection.lastWriteAt = at
      const part = isChunked ? bytes : bytes.subarray(bodyStart, bodyEnd)
      given += part.length
      socket.write(part)
      return socket.writableLength <= LOW_WATER
    },
    look(at) {
      const now = given - socket.writableLength
      if (now > taken) connection.lastProgressAt = at
      taken = now
    },
    hasRoom: () => !isOver && socket.writableLength <= LOW_WATER,
    unsent: () => socket.writableLength,
    end(last) {
      if (isOver) return
      if (last !== undefined) connection.write(last)
      isOver = true
      if (isChunked) socket.write(LAST_CHUNK)
      // A client that has read all of it and does not close must not hold up a server that drains.
      socket.destroySoon()
    },
    destroy: () => socket.destroy(),
  }
  socket.on('drain', () => connection.onRoom())
  socket.on('close', () => {
    isOver = true
    connection.onClose()
  })
  connection.write(OPENING)
  return connection
}
