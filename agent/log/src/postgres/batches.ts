/**
 * Runs batches of commits. A batch is written once, and retried only if it certainly was not written.
 *
 *   connected      batches run, one at a time
 *   out            nothing was written: the batch waits for a new connection and is retried, until its
 *                  callers time out
 *   in doubt       COMMIT was sent and got no response: on the next connection the number of the last batch
 *                  shows whether it was written. The callers wait for that however long it takes, because any
 *                  answer would be a guess
 */
import { AppError, asError } from '@cairn/protocol'
import type { CommitRequest } from '../engine/writer-messages.ts'
import { bound, type Report, type Statement } from './connections.ts'
import { asStoreFailure, isCollision, isLost } from './failures.ts'
import { type Done, FateUnknown, type TransactionOutcome, transact } from './transact.ts'
import type { WriterConnection } from './writer-connection.ts'

export type Waiting = {
  request: CommitRequest
  /** performance.now() at the call. */
  asked: number
  resolve: (done: Done) => void
  reject: (error: unknown) => void
}

const MAX_COLLISIONS = 5
const LAST_BATCH: Statement = {
  name: 'last_batch',
  text: 'SELECT batch FROM writers WHERE id = $1 FOR UPDATE',
}

const notWritten = (): AppError =>
  new AppError('storage', '[commit] the database cannot be reached; nothing was written')
const neverTold = (): AppError =>
  new AppError(
    'storage',
    '[commit] the store was closed before the database said whether the commit came through',
  )

const rejectAll = (requests: readonly Waiting[], error: unknown): void =>
  requests.forEach(({ reject }) => reject(error))

export type BatchOptions = {
  /** Identifies this process in the table of writers. */
  writerId: string
  connection: WriterConnection
  /** Called for every commit before its promise settles, in the order of this process. */
  landed: (request: CommitRequest, done: Done) => void
  report: Report
  /** How long a commit waits for an unreachable server. */
  patienceMs: number
}

/** Resolves when every request has its answer. */
export type RunBatch = (requests: readonly Waiting[]) => Promise<void>

export function createBatches({ writerId, connection, landed, report, patienceMs }: BatchOptions): RunBatch {
  let batch = 0
  const isLate = ({ asked }: Waiting): boolean => performance.now() - asked >= patienceMs

  /** Whether the batch with that number was committed. Null if the store closes before this is known. */
  async function isCommitted(number: number): Promise<boolean | null> {
    while (!connection.hasGivenUp()) {
      const client = await connection.get(() => false)
      if (client === null) return null
      try {
        // Waits until the old transaction has ended, if the server still runs it.
        const { rows } = (await client.query(bound(LAST_BATCH, [writerId]))) as { rows: { batch: number }[] }
        return (rows[0]?.batch ?? 0) >= number
      } catch (error) {
        connection.lose(client)
        report('warn', 'whether a batch was committed is not known yet', { error: asError(error).message })
      }
    }
    return null
  }

  /** True if the requests have their answers; false if nothing of the batch was written. */
  async function settleDoubt(
    number: number,
    requests: readonly Waiting[],
    doubt: FateUnknown,
  ): Promise<boolean> {
    const committed = await isCommitted(number)
    if (committed === null) {
      rejectAll(requests, neverTold())
      return true
    }
    report(
      'info',
      committed
        ? 'the batch in doubt was committed'
        : 'the batch in doubt was not committed and is tried again',
    )
    if (committed) answer(requests, doubt.outcomes, landed)
    return committed
  }

  async function run(given: readonly Waiting[]): Promise<void> {
    let requests = given
    for (let collisions = 0; requests.length > 0;) {
      const waiting = requests
      const client = await connection.get(() => waiting.every(isLate))
      if (client === null) return rejectAll(requests, notWritten())
      const number = (batch += 1)
      try {
        const asked = requests.map(({ request }) => request)
        return answer(requests, await transact(client, writerId, number, asked), landed)
      } catch (error) {
        if (error instanceof FateUnknown) {
          connection.lose(client)
          if (await settleDoubt(number, requests, error)) return
        } else if (isLost(error)) connection.lose(client)
        else if (isCollision(error) && collisions < MAX_COLLISIONS) collisions += 1
        else if (requests.length === 1) return rejectAll(requests, asStoreFailure('commit', error))
        else {
          // One of them causes the failure, so each is run by itself.
          for (const one of requests) await run([one])
          return
        }
      }
      const late = connection.isOut() ? requests.filter(isLate) : []
      rejectAll(late, notWritten())
      requests = requests.filter(each => !late.includes(each))
    }
  }

  return run
}

function answer(
  requests: readonly Waiting[],
  outcomes: readonly TransactionOutcome[],
  landed: BatchOptions['landed'],
): void {
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
