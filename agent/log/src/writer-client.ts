/** The store's end of the writer thread: gathers requests, posts them together, and gives each its answer. */
import { Worker } from 'node:worker_threads'
import { AppError } from '@cairn/protocol'
import { DamagedStore } from './refuse-damaged.ts'
import { toInboxItem } from './inbox-rows.ts'
import { toSessionRow } from './session-rows.ts'
import { CommitRefused } from './store.ts'
import { createWaitingLines } from './waiting-lines.ts'
import {
  type Answer,
  type FromWriter,
  joinRequests,
  readAnswers,
  type Refused,
  type Request,
  writeRequest,
  type WriterStart,
} from './writer-messages.ts'

type Waiting = {
  request: Request
  text: string
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

export type WriterClient = {
  /** Resolves when the transaction of the request is on disk. */
  ask(request: Request): Promise<unknown>
  close(): Promise<void>
}

export type WriterListeners = {
  /** Sees every answered request before its promise settles, in commit order. */
  landed: (request: Request, value: unknown) => void
  report: (level: 'warn' | 'error', message: string) => void
}

export async function startWriter(
  start: WriterStart,
  { landed, report }: WriterListeners,
): Promise<WriterClient> {
  const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData: start })
  let sent: Waiting[] = []
  /** How many requests each message had that is not answered in full. */
  const ahead: number[] = []
  let isPosting = false
  const gathered = createWaitingLines<Waiting>()
  /** Goes behind everything else. */
  let last: Waiting | null = null
  let broken: Error | null = null
  let closing: Promise<void> | null = null

  function fail(error: Error): void {
    broken ??= error
    const waiting = [...sent, ...gathered.empty(), ...(last === null ? [] : [last])]
    sent = []
    last = null
    for (const { reject } of waiting) reject(broken)
  }

  function settle(waiting: Waiting, answer: Answer): void {
    switch (answer[0]) {
      case 'done':
        landed(waiting.request, answer[1])
        return waiting.resolve(answer[1])
      case 'refused':
        return waiting.reject(toRefusal(answer[1], waiting.request))
      case 'failed':
        return waiting.reject(
          answer[2]
            ? new AppError(
                'storage',
                `[${waiting.request.do}] the store did not take the write: ${answer[1]}`,
              )
            : new Error(answer[1]),
        )
    }
  }

  await new Promise<void>((resolve, reject) => {
    worker.once('error', reject)
    worker.on('message', function begin(message: FromWriter) {
      if (message === 'ready') {
        worker.off('error', reject)
        worker.off('message', begin)
        resolve()
      } else if (typeof message === 'object' && 'damaged' in message)
        reject(new DamagedStore(message.damaged))
    })
    worker.on('message', (message: FromWriter) => {
      if (typeof message === 'object' && 'notice' in message) report(message.notice, message.message)
    })
  })
  worker.on('error', cause =>
    fail(new Error('[log writer] the writer thread died; restart the server', { cause })),
  )
  worker.on('exit', () => fail(new Error('[log writer] the store is closed')))
  worker.on('message', (message: FromWriter) => {
    if (message === 'ready' || typeof message === 'object') return
    const answers = readAnswers(message)
    const settled = sent.slice(0, answers.length)
    sent = sent.slice(answers.length)
    countDown(answers.length)
    for (const [at, answer] of answers.entries()) {
      const waiting = settled[at]
      if (waiting === undefined) throw new Error('[log writer] more answers than requests')
      settle(waiting, answer)
    }
  })

  function countDown(answered: number): void {
    for (let left = answered; left > 0 && ahead[0] !== undefined;) {
      const taken = Math.min(left, ahead[0])
      left -= taken
      if ((ahead[0] -= taken) === 0) ahead.shift()
    }
    if (gathered.size() > 0 || last !== null) schedule()
  }

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
    if (broken !== null || next.length === 0) return
    worker.postMessage(joinRequests(next.map(({ text }) => text)), [])
    ahead.push(next.length)
    sent = sent.concat(next)
    if (gathered.size() > 0) schedule()
  }

  function ask(request: Request): Promise<unknown> {
    if (broken !== null) return Promise.reject(broken)
    if (closing !== null) return Promise.reject(new Error('[log writer] the store is closing'))
    return enqueue(request)
  }

  function enqueue(request: Request): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiting = { request, text: writeRequest(request), resolve, reject }
      if (request.do === 'close') last = waiting
      else gathered.push(waiting, request.do === 'commit' && request.can_wait === true)
      schedule()
    })
  }

  return {
    ask,
    close() {
      closing ??= enqueue({ do: 'close' })
        .then(() => worker.terminate())
        .then(() => undefined)
      return closing
    },
  }
}

function toRefusal({ refusal, detail, session, item }: Refused, request: Request): CommitRefused {
  const at = 'at' in request ? request.at : 0
  return new CommitRefused(
    refusal,
    detail,
    session === null ? null : toSessionRow(session),
    item === null ? null : toInboxItem(item, at),
  )
}
