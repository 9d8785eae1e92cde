/**
 * The raw socket of one stream, after its headers. It counts what is unsent and when the peer last took
 * something; who writes decides what to do about it.
 *
 *   open     takes what is written
 *   ending   takes nothing more; what was written before goes out
 *   over     ended in order, or closed by either side
 */
import type { Socket } from 'node:net'
import { checkMove, errorWithHeaders } from '@cairn/protocol'
import type { Exchange } from '../http/exchange.ts'
import { type Chunk, LAST_CHUNK, OPENING } from './frames.ts'
import { Outgoing } from './outgoing.ts'
import type { SendQueues } from './send-queues.ts'

type State = 'open' | 'ending' | 'over'
const MOVES = { open: ['ending', 'over'], ending: ['over'], over: [] } satisfies Record<State, State[]>

/**
 * A class and no closures: an event is written to a thousand of these one after the other, and the objects
 * that a write must fetch from memory are most of what it costs beside the system call.
 */
export class Connection {
  readonly #socket: Socket
  readonly #isChunked: boolean
  readonly #outgoing: Outgoing
  readonly #peer: PeerWatch
  #state: State = 'open'
  /** performance.now() of the last write, for the heartbeat. */
  lastWriteAt = performance.now()
  /** performance.now() when the peer was last seen to have taken bytes, or had taken all. */
  lastProgressAt = this.lastWriteAt
  onRoom: () => void = () => {}
  onClose: () => void = () => {}

  /** Takes over a socket on which the headers are out. */
  constructor(socket: Socket, isChunked: boolean) {
    this.#socket = socket
    this.#isChunked = isChunked
    this.#outgoing = new Outgoing(socket)
    this.#peer = watchPeer(() => this.#outgoing.gone())
    socket.setTimeout(0)
    socket.setNoDelay(true)
    socket.on('drain', () => {
      this.#flush()
      if (this.hasRoom()) this.onRoom()
    })
    socket.on('close', () => {
      if (this.#state !== 'over') this.#move('over')
      this.onClose()
    })
    this.write(OPENING)
  }

  /** False when more than LOW_WATER is unsent now: wait for `onRoom`. `at` is performance.now(). */
  write({ bytes, bodyStart, bodyEnd }: Chunk, at = performance.now()): boolean {
    if (this.#state !== 'open') return false
    if (this.#outgoing.unsent() === 0) this.lastProgressAt = at
    this.lastWriteAt = at
    return this.#outgoing.add(this.#isChunked ? bytes : bytes.subarray(bodyStart, bodyEnd))
  }

  hasRoom(): boolean {
    return this.#state !== 'over' && this.#outgoing.hasRoom()
  }

  /** Bytes that the peer has not taken. */
  unsent(): number {
    return this.#outgoing.unsent()
  }

  /** Ends the body and the connection in order. */
  end(last?: Chunk): void {
    if (this.#state !== 'open') return
    if (last !== undefined) this.write(last)
    this.#move('ending')
    this.#flush()
  }

  /** Cuts it off. */
  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Sees whether the peer took something since the last look. A callback a write would say it at once, at a
   * tenth of what the write costs.
   */
  look(at: number): void {
    if (this.#peer.look()) this.lastProgressAt = at
  }

  /** For how long the peer has acknowledged nothing, as far as these looks know; 0 at the first. */
  lookAtPeer(queues: SendQueues, at: number): number {
    return this.#peer.quietFor(queues(this.#socket), at)
  }

  #flush(): void {
    this.#outgoing.flush()
    if (this.#state === 'ending' && this.#outgoing.waiting() === 0) this.#finish()
  }

  #finish(): void {
    this.#move('over')
    if (this.#isChunked) this.#socket.write(LAST_CHUNK)
    // A client that has read all of it and does not close must not hold up a server that drains.
    this.#socket.destroySoon()
  }

  #move(next: State): void {
    checkMove<State>('connection', MOVES, this.#state, next)
    this.#state = next
  }
}

/**
 * Sends the headers and takes the socket over: from here on nothing of node:http writes to it. Throws for a
 * pipelined request whose turn to be answered has not come: its bytes would go out within the body of an
 * earlier answer.
 */
export function takeConnection(exchange: Exchange): Connection {
  const { req, res } = exchange
  // Null until all earlier requests of the connection are answered.
  const { socket } = res
  if (socket === null)
    throw errorWithHeaders(
      'bad_request',
      'A stream cannot be pipelined behind a request that is not answered yet: open another connection.',
      { connection: 'close' },
    )
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
  return new Connection(socket, isChunked)
}

/** What the other side takes, as far as looks from time to time show. `gone` counts what left this process. */
type PeerWatch = ReturnType<typeof watchPeer>
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
