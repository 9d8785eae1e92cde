/**
 * The store's end of the writer thread: posts requests and resolves each with its answer.
 *
 *   open      accepts requests
 *   closing   answers pending requests, `close` last, and rejects new ones
 *   ended     the thread has ended, cleanly or not: pending and new requests are rejected with the reason
 */
import { Worker } from 'node:worker_threads'
import { AppError, checkedState } from '@cairn/protocol'
import { moduleBeside } from '@cairn/tooling/beside'
import { toInboxItem } from '../resources/inbox/stored-item.ts'
import { UnsupportedSchema } from '../engine/migrations.ts'
import { DamagedStore } from './refuse-damaged.ts'
import { CommitRefused } from '../refusals.ts'
import { toSessionRow } from '../engine/session-rows.ts'
import {
  type Answer,
  type FromWriter,
  readAnswers,
  type Refused,
  type Request,
  writeRequest,
  type WriterStart,
} from '../engine/writer-messages.ts'
import { createWriterQueue, type Waiting } from './writer-queue.ts'

export type WriterClient = {
  /** Resolves when the transaction of the request is on disk. */
  ask(request: Request): Promise<unknown>
  close(): Promise<void>
}

export type WriterListeners = {
  /** Called for every answered request before its promise settles, in commit order. */
  landed: (request: Request, value: unknown) => void
  report: (level: 'warn' | 'error', message: string) => void
}

type Listen = {
  (event: 'message', listener: (message: FromWriter) => void): unknown
  (event: 'error', listener: (error: Error) => void): unknown
  (event: 'exit', listener: () => void): unknown
}
/** The part of a thread that the store needs. Tests of other packages run the writer in their own process. */
type WriterThread = {
  postMessage(text: unknown, transfer: []): void
  on: Listen
  once: Listen
  off: Listen
  terminate(): Promise<number>
}
export type StartThread = (start: WriterStart) => WriterThread

const startThread: StartThread = start =>
  new Worker(moduleBeside(import.meta, './writer-thread'), { workerData: start })

export async function startWriter(
  start: WriterStart,
  { landed, report }: WriterListeners,
  thread: StartThread = startThread,
): Promise<WriterClient> {
  const worker = thread(start)
  await untilReady(worker, report)
  const queue = createWriterQueue(text => worker.postMessage(text, []))
  const state = checkedState('log writer', 'open', {
    open: ['closing', 'ended'],
    closing: ['ended'],
    ended: [],
  })
  let why = new Error('[log writer] the store is closing')
  let closing: Promise<void> | null = null

  function end(error: Error): void {
    if (state.is('ended')) return
    state.to('ended')
    why = error
    for (const { reject } of queue.empty()) reject(error)
  }

  worker.on('error', cause =>
    end(new Error('[log writer] the writer thread died; restart the server', { cause })),
  )
  worker.on('exit', () => end(new Error('[log writer] the store is closed')))
  worker.on('message', (message: FromWriter) => {
    if (typeof message === 'object' || message === 'ready') return
    const answers = readAnswers(message)
    const settled = queue.answered(answers.length)
    for (const [at, answer] of answers.entries()) {
      const waiting = settled[at]
      if (waiting === undefined) throw new Error('[log writer] more answers than requests')
      settle(waiting, answer, landed)
    }
  })

  const enqueue = (request: Request): Promise<unknown> =>
    new Promise((resolve, reject) => queue.add({ request, text: writeRequest(request), resolve, reject }))

  async function close(): Promise<void> {
    if (state.is('open')) {
      state.to('closing')
      await enqueue({ do: 'close' })
    }
    await worker.terminate()
  }

  return {
    ask: request => (state.is('open') ? enqueue(request) : Promise.reject(why)),
    close: () => (closing ??= close()),
  }
}

/** Resolves when the thread has opened the database; rejects with DamagedStore or UnsupportedSchema if not. */
const untilReady = (worker: WriterThread, report: WriterListeners['report']): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    worker.once('error', reject)
    worker.on('message', function begin(message: FromWriter) {
      if (message === 'ready') {
        worker.off('error', reject)
        worker.off('message', begin)
        resolve()
      } else if (typeof message === 'object' && 'damaged' in message)
        reject(new DamagedStore(message.damaged))
      else if (typeof message === 'object' && 'unsupported' in message)
        reject(new UnsupportedSchema(message.unsupported))
    })
    worker.on('message', (message: FromWriter) => {
      if (typeof message === 'object' && 'level' in message) report(message.level, message.message)
    })
  })

function settle(
  { request, resolve, reject }: Waiting,
  answer: Answer,
  landed: WriterListeners['landed'],
): void {
  switch (answer[0]) {
    case 'done':
      landed(request, answer[1])
      return resolve(answer[1])
    case 'refused':
      return reject(toRefusal(answer[1], request))
    case 'failed':
      return reject(
        answer[2]
          ? new AppError('storage', `[${request.do}] the store did not take the write: ${answer[1]}`)
          : new Error(answer[1]),
      )
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
