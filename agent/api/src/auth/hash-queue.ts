/**
 * Who waits for a password to be hashed. A hash takes a tenth of a second of a core and 32 MiB, so a few run
 * at a time and a few wait: beyond that the answer is 429 at once, and not after a minute.
 *
 * Those who wait are served address by address: one that sends hundreds has one turn while every other has
 * one too, and the place it takes away when all are taken is its own. Who logged in from there before goes
 * ahead of everybody.
 */
import { tooManyRequests } from '@cairn/protocol'

export type QueueLimits = { atOnce: number; perAddress: number; inAll: number }
/** Two cores of a small machine; and so many wait that the last of them is served within some seconds. */
const LIMITS: QueueLimits = { atOnce: 2, perAddress: 4, inAll: 64 }
const COME_BACK_S = 3

export type Ticket = {
  address: string
  /** Goes ahead of those who are not. */
  isKnown?: boolean
  /** Nobody waits for the answer any more. */
  isGone?: () => boolean
}
export type HashQueue = {
  /** Rejects with rate_limited, before `work` began, when too many wait. */
  run<T>(ticket: Ticket, work: () => Promise<T>): Promise<T>
  waiting(): number
}
type Waiting = { isGone: () => boolean; start: () => void; refuse: () => void }

/** Addresses in the order of their next turn, each with those who wait there. */
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
  /** Takes the newest of the address that has most of them, the last in turn, if that is more than `than`. */
  dropFromLongest(than: number): Waiting | undefined {
    let longest: Waiting[] = []
    for (const those of this.#byAddress.values()) if (those.length >= longest.length) longest = those
    return longest.length > than ? longest.pop() : undefined
  }
}

const refusal = () =>
  tooManyRequests('Too many log in at this moment; try again in a few seconds.', COME_BACK_S)

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
