/**
 * The queue for password hashes. A hash takes a tenth of a second of a core and 32 MiB, so a few run at a
 * time and a few wait; beyond that the server returns 429 at once rather than after a minute.
 *
 * Addresses are served round-robin: one that sends hundreds of requests gets one turn while every other gets
 * one too, and when the queue is full it loses its own entries. Users who logged in from their address before
 * are served first.
 */
import { tooManyRequests } from '@cairn/protocol'

export type QueueLimits = { atOnce: number; perAddress: number; inAll: number }
/** Two cores of a small machine, and a queue whose last entry is served within some seconds. */
const LIMITS: QueueLimits = { atOnce: 2, perAddress: 4, inAll: 64 }
const COME_BACK_S = 3

export type Ticket = {
  address: string
  /** Served before unknown addresses. */
  isKnown?: boolean
  /** True once the client has disconnected. */
  isGone?: () => boolean
}
export type HashQueue = {
  /** Rejects with rate_limited, before `work` starts, if too many are waiting. */
  run<T>(ticket: Ticket, work: () => Promise<T>): Promise<T>
  waiting(): number
}
type Waiting = { isGone: () => boolean; start: () => void; refuse: () => void }

/** Addresses in round-robin order, each with its waiting entries. */
class Line {
  readonly #byAddress = new Map<string, Waiting[]>()

  count(address: string): number {
    return this.#byAddress.get(address)?.length ?? 0
  }
  add(address: string, waiting: Waiting): void {
    const those = this.#byAddress.get(address)
    if (those === undefined) this.#byAddress.set(address, [waiting])
    else those.push(waiting)
  }
  next(): Waiting | undefined {
    for (const [address, those] of this.#byAddress) {
      const first = those.shift()
      this.#byAddress.delete(address)
      if (those.length > 0) this.#byAddress.set(address, those)
      if (first !== undefined) return first
    }
    return undefined
  }
  /**
   * Removes the newest entry of the address with the most entries (of several the last in order), if it has
   * more than `than`.
   */
  dropFromLongest(than: number): Waiting | undefined {
    let longest: Waiting[] = []
    for (const those of this.#byAddress.values()) if (those.length >= longest.length) longest = those
    return longest.length > than ? longest.pop() : undefined
  }
}

const refusal = () => tooManyRequests('Too many logins in progress: retry in a few seconds.', COME_BACK_S)

export function createHashQueue({ atOnce, perAddress, inAll }: QueueLimits = LIMITS): HashQueue {
  const known = new Line()
  const strangers = new Line()
  let running = 0
  let waiting = 0

  function startNext(): void {
    for (;;) {
      const next = running < atOnce ? (known.next() ?? strangers.next()) : undefined
      if (next === undefined) return
      waiting--
      if (next.isGone()) next.refuse()
      else next.start()
    }
  }

  return {
    waiting: () => waiting,
    run({ address, isKnown = false, isGone = () => false }, work) {
      const line = isKnown ? known : strangers
      return new Promise((resolve, reject) => {
        const refuse = (): void => reject(refusal())
        const start = (): void => {
          running++
          work()
            .then(resolve, reject)
            .finally(() => {
              running--
              startNext()
            })
        }
        const mine = line.count(address)
        if (mine >= perAddress) return refuse()
        if (waiting >= inAll) {
          const dropped = strangers.dropFromLongest(isKnown ? 0 : mine + 1)
          if (dropped === undefined) return refuse()
          waiting--
          dropped.refuse()
        }
        waiting++
        line.add(address, { isGone, start, refuse })
        startNext()
      })
    },
  }
}
