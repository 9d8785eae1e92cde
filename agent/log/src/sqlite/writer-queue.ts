/**
 * Requests to the writer thread: collected, posted together, and matched with their answers, which arrive in
 * the order of posting.
 */
import { createWaitingLines } from '../engine/waiting-lines.ts'
import { joinRequests, type Request, type RequestsText, type RequestText } from '../engine/writer-messages.ts'

export type Waiting = {
  request: Request
  text: RequestText
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/**
 * Unanswered messages at the writer: one in progress and one waiting. Further requests are collected into the
 * next message, because each message wakes both threads and the writer would not handle it any sooner.
 */
const MAX_AHEAD = 2
/** Requests per message, which is a transaction of the writer: later requests may still overtake the rest. */
const MAX_MESSAGE = 256

export type WriterQueue = {
  add(waiting: Waiting): void
  /** Removes the oldest posted requests, for which `count` answers have arrived. */
  answered(count: number): Waiting[]
  /** Removes and returns all requests, posted or not. */
  empty(): Waiting[]
}

export function createWriterQueue(postMessage: (requests: RequestsText) => void): WriterQueue {
  const gathered = createWaitingLines<Waiting>()
  let sent: Waiting[] = []
  /** The number of unanswered requests of each posted message. */
  const ahead: number[] = []
  /** `close` goes behind everything else. */
  let last: Waiting | null = null
  let isPosting = false

  /** One message for all requests of one event loop turn. */
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
