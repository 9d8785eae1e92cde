/**
 * The raw socket of one stream, after its headers. It counts unsent bytes and records when the peer last made
 * progress; the caller decides what to do about it.
 *
 *   open     accepts writes
 *   ending   accepts no more writes; flushes what is queued
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
 * A class, not a closure: an event is written to a thousand connections in turn, and apart from the system
 * call most of the cost is cache misses on the objects that a write touches.
 */
export class Connection {
  readonly #socket: Socket
  readonly #isChunked: boolean
  readonly #outgoing: Outgoing
  readonly #peer: PeerWatch
  #state: State = 'open'
  /** Monotonic milliseconds. */
  readonly #clock: () => number
  /** Monotonic time of the last write, for the heartbeat. */
  lastWriteAt: number
  /** Monotonic time when the peer was last seen to make progress, or had received everything. */
  lastProgressAt: number
  onRoom: () => void = () => {}
  onClose: () => void = () => {}

  /** Takes over a socket whose headers have been sent. */
  constructor(socket: Socket, isChunked: boolean, clock = () => performance.now()) {
    this.#socket = socket
    this.#clock = clock
    this.lastWriteAt = this.lastProgressAt = clock()
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

  /** False if more than LOW_WATER is unsent now: wait for `onRoom`. `at` is the monotonic time. */
  write({ bytes, bodyStart, bodyEnd }: Chunk, at = this.#clock()): boolean {
    if (this.#state !== 'open') return false
    if (this.#outgoing.unsent() === 0) this.lastProgressAt = at
    this.lastWriteAt = at
    return this.#outgoing.add(this.#isChunked ? bytes : bytes.subarray(bodyStart, bodyEnd))
  }

  hasRoom(): boolean {
    return this.#state !== 'over' && this.#outgoing.hasRoom()
  }

  /** Bytes that the peer has not received. */
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

  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Checks for progress since the last call. A callback per write would report it at once, but adds a tenth
   * to the cost of the write.
   */
  look(at: number): void {
    if (this.#peer.look()) this.lastProgressAt = at
  }

  /** How long the peer has acknowledged nothing, as far as these checks show; 0 at the first. */
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
    // A client that has read everything and does not close must not delay a drain.
    this.#socket.destroySoon()
  }

  #move(next: State): void {
    checkMove<State>('connection', MOVES, this.#state, next)
    this.#state = next
  }
}

/**
 * Sends the headers and takes over the socket: from then on node:http writes nothing to it. Throws for a
 * pipelined request with unanswered predecessors: its bytes would end up within the body of an earlier
 * response.
 */
export function takeConnection(exchange: Exchange): Connection {
  const { req, res } = exchange
  // Null until all earlier requests of the connection are answered.
  const { socket } = res
  if (socket === null)
    throw errorWithHeaders(
      'bad_request',
      'A stream cannot be pipelined behind an unanswered request: open another connection.',
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

/**
 * The peer's progress, as far as periodic checks show it. `gone` returns the bytes that have left this
 * process.
 */
type PeerWatch = ReturnType<typeof watchPeer>
function watchPeer(gone: () => number) {
  let taken = 0
  /** The maximum seen to be acknowledged, and when. */
  let acknowledged = -1
  let acknowledgedAt = 0
  return {
    /** True if the peer made progress since the last call. */
    look(): boolean {
      const now = gone()
      const hasMoved = now > taken
      taken = now
      return hasMoved
    },
    /** How long nothing was acknowledged. `queued` is what the kernel still holds, null if unknown. */
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
