/**
 * The only writer of a process: requests that arrive while a batch is being committed form the next batch. It
 * survives restarts of the server (batches.ts).
 *
 *   open       accepts commits
 *   closing    finishes its commits, if the server is reachable, and rejects new ones
 *   closed     no longer waits for the server
 */
import { AppError, asError, checkedState } from '@cairn/protocol'
import { createWaitingLines } from '../engine/waiting-lines.ts'
import type { CommitRequest } from '../engine/writer-messages.ts'
import type { PostgresAddress } from './address.ts'
import { type BatchOptions, createBatches, type Waiting } from './batches.ts'
import { bound, closeClient, type Statement } from './connections.ts'
import type { Done } from './transact.ts'
import { createWriterConnection } from './writer-connection.ts'

export type Writer = {
  /** Resolves when the commit is on the server's disk. */
  commit(request: CommitRequest): Promise<Done>
  /** Earlier requests are written first, if the server is reachable. */
  close(): Promise<void>
}

const MAX_BATCH = 256
/** Beyond this a commit is rejected at once, because the queue is in memory. */
const MAX_WAITING = 20_000
/** How long a commit waits for an unreachable server when the process ends. */
const CLOSE_MS = 5_000
/**
 * A process that shuts down cleanly has no commit in doubt; rows of other processes are obsolete after a
 * while.
 */
const FORGET_WRITER: Statement = {
  name: 'forget_writer',
  text: `DELETE FROM writers WHERE id = $1 OR seen_at < now() - interval '7 days'`,
}

export type WriterOptions = Pick<BatchOptions, 'landed' | 'report' | 'patienceMs'>

export function createWriter(address: PostgresAddress, writerId: string, options: WriterOptions): Writer {
  const { report } = options
  const connection = createWriterConnection(address, report)
  const run = createBatches({ ...options, writerId, connection })
  const waiting = createWaitingLines<Waiting>()
  let running: Promise<void> | null = null
  const state = checkedState('writer', 'open', { open: ['closing'], closing: ['closed'], closed: [] })

  async function pump(): Promise<void> {
    while (waiting.size() > 0) await run(waiting.take(MAX_BATCH))
    running = null
  }

  async function signOff(): Promise<void> {
    const client = connection.take()
    if (client === null) return
    await client
      .query(bound(FORGET_WRITER, [writerId]))
      .catch((error: unknown) =>
        report('warn', 'the writer could not sign off', { error: asError(error).message }),
      )
    closeClient(client)
  }

  return {
    commit(request) {
      if (!state.is('open')) return Promise.reject(new Error('[commit] the store is closed'))
      if (waiting.size() >= MAX_WAITING)
        return Promise.reject(
          new AppError(
            'storage',
            '[commit] too many commits are waiting for the database; nothing was written',
          ),
        )
      return new Promise((resolve, reject) => {
        const asked = performance.now()
        waiting.push({ request, asked, resolve, reject }, request.can_wait === true)
        // Requests of the same event loop turn share a batch.
        running ??= new Promise<void>(resolve => setImmediate(resolve)).then(pump)
      })
    },
    async close() {
      state.to('closing')
      const patience = setTimeout(connection.giveUp, CLOSE_MS)
      await running
      clearTimeout(patience)
      connection.giveUp()
      state.to('closed')
      await signOff()
    },
  }
}
