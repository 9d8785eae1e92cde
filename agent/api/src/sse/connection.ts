/**
 * The raw socket of one stream, after its headers. It counts what is unsent and when the peer last took
 * something; who writes decides what to do about it.
 *
 *   open     takes what is written
 *   ending   takes nothing more; what was written before goes out
 *   over     ended in order, or closed by either side
 */
import type { Socket } from 'node:net'
import { checkMove } from '@cairn/protocol'
import type { Exchange } from '../http/exchange.ts'
import { type Chunk, LAST_CHUNK, OPENING } from './frames.ts'
import { createOutgoing } from './outgoing.ts'
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

type State = 'open' | 'ending' | 'over'
const MOVES = { open: ['ending', 'over'], ending: ['over'], over: [] } satisfies Record<State, State[]>

function overSocket(socket: Socket, isChunked: boolean): Connection {
  socket.setTimeout(0)
  socket.setNoDelay(true)
  // A plain field: it is read for every event of every reader.
  let state: State = 'open'
  function move(next: State): void {
    checkMove<State>('connection', MOVES, state, next)
    state = next
  }
  const outgoing = createOutgoing(socket)
  const peer = watchPeer(outgoing.gone)

  function flush(): void {
    outgoing.flush()
    if (state === 'ending' && outgoing.waiting() === 0) finish()
  }
  function finish(): void {
    move('over')
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
      if (state !== 'open') return false
      const at = performance.now()
      if (outgoing.unsent() === 0) connection.lastProgressAt = at
      connection.lastWriteAt = at
      return outgoing.add(isChunked ? bytes : bytes.subarray(bodyStart, bodyEnd))
    },
    look(at) {
      if (peer.look()) connection.lastProgressAt = at
    },
    lookAtPeer: (queues, at) => peer.quietFor(queues(socket), at),
    hasRoom: () => state !== 'over' && outgoing.hasRoom(),
    unsent: outgoing.unsent,
    end(last) {
      if (state !== 'open') return
      if (last !== undefined) connection.write(last)
      move('ending')
      flush()
    },
    destroy: () => socket.destroy(),
  }
  socket.on('drain', () => {
    flush()
    if (connection.hasRoom()) connection.onRoom()
  })
  socket.on('close', () => {
    if (state !== 'over') move('over')
    connection.onClose()
  })
  connection.write(OPENING)
  return connection
}

/** What the other side takes, as far as looks from time to time show. `gone` counts what left this process. */
function watchPeer(gone: () => number) {
  let taken = 0
  /** The most that was seen to have been acknowledged, and when. */
  let acknowledged = -1
  let acknowledgedAt = 0
  return {
    /** Whether something was taken since the last look. */
    look(): boolean {
      const now = gone()
      const hasMoved = now > taken
      taken = now
      return hasMoved
    },
    /** For how long nothing was acknowledged. `queued` is what the kernel still has, null where nobody knows. */
    quietFor(queued: number | null, at: number): number {
      const seen = taken - (queued ?? taken)
      if (seen > acknowledged || acknowledgedAt === 0) {
        acknowledged = seen
        acknowledgedAt = at
      }
      return at - acknowledgedAt
    },
  }
}
