/**
 * Requests on their way to the writer thread: gathered, posted together, and found again when their answers
 * come, which is in the order in which they were posted.
 */
import { createWaitingLines } from './waiting-lines.ts'
import { joinRequests, type Request, type RequestsText, type RequestText } from './writer-messages.ts'

export type Waiting = {
  request: Request
  text: RequestText
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/**
 * Messages that the writer may have and not have answered: one that it works on and one that waits for it.
 * What is asked for meanwhile is gathered into the next, for each message costs both threads a wake-up and
 * the writer would not come to it any sooner.
 */
const MAX_AHEAD = 2
/** Requests of one message, a transaction of the writer: what comes later may still go before the rest. */
const MAX_MESSAGE = 256

export type WriterQueue = {
  add(waiting: Waiting): void
  /** The oldest of those posted, which so many answers are for. */
  answered(count: number): Waiting[]
  /** Whoever waits, posted or not; nothing is left. */
  empty(): Waiting[]
}

export function createWriterQueue(postMessage: (requests: RequestsText) => void): WriterQueue {
  const gathered = createWaitingLines<Waiting>()
  let sent: Waiting[] = []
  /** How many requests each message had that is not answered in full. */
  const ahead: number[] = []
  /** `close` goes behind everything else. */
  let last: Waiting | null = null
  let isPosting = false

  /** One message for all that one turn of the event loop asks for. */
  function schedule(): void {
    if (isPosting || ahead.length >= MAX_AHEAD) return
    isPosting = true
    setImmediate(post)
  }

  function post(): void {
    isPosting = false
    const next = gathered.take(MAX_MESSAGE)
    if (last !== null && gathered.size() === 0) {
      next.push(last)
      last = null
    }
    if (next.length === 0) return
    postMessage(joinRequests(next.map(({ text }) => text)))
    ahead.push(next.length)
    sent = sent.concat(next)
    if (gathered.size() > 0) schedule()
  }

  function countDown(answers: number): void {
    for (let left = answers; left > 0 && ahead[0] !== undefined;) {
      const taken = Math.min(left, ahead[0])
      left -= taken
      if ((ahead[0] -= taken) === 0) ahead.shift()
    }
    if (gathered.size() > 0 || last !== null) schedule()
  }

  return {
    add(waiting) {
      const { request } = waiting
      if (request.do === 'close') last = waiting
      else gathered.push(waiting, request.do === 'commit' && request.can_wait === true)
      schedule()
    },
    answered(count) {
      const settled = sent.slice(0, count)
      sent = sent.slice(count)
      countDown(count)
      return settled
    },
    empty() {
      const all = [...sent, ...gathered.empty(), ...(last === null ? [] : [last])]
      sent = []
      last = null
      return all
    },
  }
}
