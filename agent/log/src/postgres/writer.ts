/**
 * The one writer of a process: what was asked for while a batch was being committed is the next batch. It
 * outlives the server.
 *
 *   connected      batches run, one at a time
 *   out            nothing was written: the batch waits for a new connection and is tried again, until its
 *                  callers' patience ends
 *   in doubt       COMMIT was sent and not answered: on the next connection the number of the last batch
 *                  tells. The callers wait for that however long it takes, for an answer either way would be
 *                  a guess
 *
 * So every commit is answered by what is true: once if it is there, tried again only when it certainly is
 * not.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, asError } from '@cairn/protocol'
import type { Client } from 'pg'
import { createWaitingLines } from '../waiting-lines.ts'
import type { CommitRequest } from '../writer-messages.ts'
import type { PostgresAddress } from './address.ts'
import { bound, closeClient, openClient, type Report, type Statement } from './connections.ts'
import { asStoreFailure, isCollision, isLost } from './failures.ts'
import { type Done, FateUnknown, type Outcome, transact } from './transact.ts'

type Waiting = {
  request: CommitRequest
  asked: number
  resolve: (done: Done) => void
  reject: (error: unknown) => void
}

export type Writer = {
  /** Resolves when the commit is on the server's disk. */
  commit(request: CommitRequest): Promise<Done>
  /** What was asked before is done first, if the server lets it. */
  close(): Promise<void>
}

const MAX_BATCH = 256
/** Beyond it a commit is refused at once: memory is not a queue. */
const MAX_WAITING = 20_000
/** So long a commit waits for a server that is out when the process ends. */
const CLOSE_MS = 5_000
const MAX_COLLISIONS = 5
const BACKOFF_MS = { first: 25, most: 2_000 }
/** A process that ends in order has nothing in doubt; what the others left is of no use after a while. */
const FORGET_WRITER: Statement = {
  name: 'forget_writer',
  text: `DELETE FROM writers WHERE id = $1 OR seen_at < now() - interval '7 days'`,
}
const LAST_BATCH: Statement = {
  name: 'last_batch',
  text: 'SELECT batch FROM writers WHERE id = $1 FOR UPDATE',
}

export type WriterOptions = {
  /** Sees every commit before its promise settles, in the order of this process. */
  landed: (request: CommitRequest, done: Done) => void
  report: Report
  /** So long a commit waits for a server that cannot be reached. */
  patienceMs: number
}

export function createWriter(
  address: PostgresAddress,
  writerId: string,
  { landed, report, patienceMs }: WriterOptions,
): Writer {
  const waiting = createWaitingLines<Waiting>()
  let client: Client | null = null
  let batch = 0
  let running: Promise<void> | null = null
  let closing = false
  /** From then on nobody waits for the server any more. */
  const closed = new AbortController()

  function lose(lost: Client): void {
    if (client !== lost) return
    client = null
    closeClient(lost)
    if (!closed.signal.aborted) report('warn', 'the connection that writes was lost')
  }

  /** A new connection, however long that takes; null when `giveUp` says so or the store closes. */
  async function connect(giveUp: () => boolean): Promise<Client | null> {
    for (let wait = BACKOFF_MS.first; client === null; wait = Math.min(wait * 2, BACKOFF_MS.most)) {
      try {
        client = await openClient(address, 'writes', lose)
      } catch (error) {
        if (closed.signal.aborted || giveUp()) return null
        report('error', 'the database cannot be reached', { error: asError(error).message })
        await delay(wait * (0.5 + Math.random()))
      }
    }
    return client
  }

  function answer(requests: readonly Waiting[], outcomes: readonly Outcome[]): void {
    for (const [at, { request, resolve, reject }] of requests.entries()) {
      const outcome = outcomes[at]
      if (outcome === undefined) reject(new Error('[commit] fewer answers than commits'))
      else if ('refused' in outcome) reject(outcome.refused)
      else if ('failed' in outcome) reject(asStoreFailure('commit', outcome.failed))
      else {
        landed(request, outcome.done)
        resolve(outcome.done)
      }
    }
  }

  /** Whether the batch of that number is on the server. Null when the store closes before anyone can say. */
  async function isCommitted(number: number): Promise<boolean | null> {
    while (!closed.signal.aborted) {
      const connected = await connect(() => false)
      if (connected === null) return null
      try {
        // Waits until the old transaction is over, should the server still hold it.
        const { rows } = (await connected.query(bound(LAST_BATCH, [writerId]))) as {
          rows: { batch: number }[]
        }
        return (rows[0]?.batch ?? 0) >= number
      } catch (error) {
        lose(connected)
        report('warn', 'whether a batch was committed is not known yet', { error: asError(error).message })
      }
    }
    return null
  }

  async function run(given: Waiting[]): Promise<void> {
    let requests = given
    for (let collisions = 0; requests.length > 0;) {
      const patient = (): boolean => requests.some(({ asked }) => performance.now() - asked < patienceMs)
      const connected = client ?? (await connect(() => !patient()))
      if (connected === null) {
        for (const { reject } of requests)
          reject(new AppError('storage', '[commit] the database cannot be reached; nothing was written'))
        return
      }
      const number = (batch += 1)
      try {
        return answer(
          requests,
          await transact(
            connected,
            writerId,
            number,
            requests.map(({ request }) => request),
          ),
        )
      } catch (error) {
        if (error instanceof FateUnknown) {
          lose(connected)
          const committed = await isCommitted(number)
          if (committed === null)
            return requests.forEach(({ reject }) =>
              reject(
                new AppError(
                  'storage',
                  '[commit] the store was closed before the database said whether the commit came through',
                ),
              ),
            )
          report(
            'info',
            committed
              ? 'the batch in doubt was committed'
              : 'the batch in doubt was not committed and is tried again',
          )
          if (committed) return answer(requests, error.outcomes)
        } else if (isLost(error)) lose(connected)
        else if (isCollision(error) && collisions < MAX_COLLISIONS) collisions += 1
        else if (requests.length > 1) {
          // One of them is at fault, and the others need not pay for it.
          for (const one of requests) await run([one])
          return
        } else return requests.forEach(({ reject }) => reject(asStoreFailure('commit', error)))
      }
      const late = requests.filter(({ asked }) => client === null && performance.now() - asked >= patienceMs)
      for (const { reject } of late)
        reject(new AppError('storage', '[commit] the database cannot be reached; nothing was written'))
      requests = requests.filter(each => !late.includes(each))
    }
  }

  async function pump(): Promise<void> {
    while (waiting.size() > 0) await run(waiting.take(MAX_BATCH))
    running = null
  }

  return {
    commit(request) {
      if (closing) return Promise.reject(new Error('[commit] the store is closed'))
      if (waiting.size() >= MAX_WAITING)
        return Promise.reject(
          new AppError(
            'storage',
            '[commit] too many commits wait for the database already; nothing was written',
          ),
        )
      return new Promise((resolve, reject) => {
        const asked = performance.now()
        waiting.push({ request, asked, resolve, reject }, request.can_wait === true)
        // Whatever this turn of the event loop asks for goes together.
        running ??= new Promise<void>(resolve => setImmediate(resolve)).then(pump)
      })
    },
    async close() {
      closing = true
      const patience = setTimeout(() => closed.abort(), CLOSE_MS)
      await running
      clearTimeout(patience)
      closed.abort()
      const last = client
      client = null
      if (last === null) return
      await last
        .query(bound(FORGET_WRITER, [writerId]))
        .catch((error: unknown) =>
          report('warn', 'the writer could not sign off', { error: asError(error).message }),
        )
      closeClient(last)
    },
  }
}
