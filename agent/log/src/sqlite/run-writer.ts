/**
 * The writer: the only writing connection. Each transaction holds what was requested while the last one was
 * syncing.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { createBatchWriter, type Transactional } from './batch-writer.ts'
import { keepMark } from './keep-mark.ts'
import { openWriter } from './open-writer.ts'
import { UnsupportedSchema } from '../engine/migrations.ts'
import { DamagedStore } from './refuse-damaged.ts'
import type { Db } from './adapter.ts'
import {
  type FromWriter,
  type WriterLine,
  readRequests,
  type RequestsText,
  writeAnswers,
  type WriterStart,
} from '../engine/writer-messages.ts'

/**
 * Beyond this the sync costs little per request, and the store can process one batch's answers while the next
 * one is written.
 */
const MAX_BATCH = 256

/**
 * Opens the database and answers the requests that arrive on `port`, until one of them is `close`. An error
 * ends the thread, except that a damaged database, or one with an unsupported schema, is reported to the
 * other end.
 */
export function runWriter(port: MessagePort, start: WriterStart): void {
  const send = (message: FromWriter): void => port.postMessage(message)
  const tell = (level: WriterLine['level'], message: string): void => send({ level, message })
  try {
    serve(openWriter(start, tell), { port, start, send, tell })
  } catch (error) {
    if (error instanceof DamagedStore) send({ damaged: error.message })
    else if (error instanceof UnsupportedSchema) send({ unsupported: error.message })
    else throw error
    port.close()
  }
}

type Ends = {
  port: MessagePort
  start: WriterStart
  send(message: FromWriter): void
  tell(level: WriterLine['level'], message: string): void
}

function serve(db: Db, { port, start, send, tell }: Ends): void {
  // This process owns the store, so every lease in it belongs to a process that is gone. The holder's name is
  // kept: it did not release the lease, and the next claim reports that.
  db.exec('UPDATE sessions SET lease_until = 0 WHERE worker_id IS NOT NULL')
  db.exec('UPDATE channel_leases SET held_until = 0')
  const runBatch = createBatchWriter(db)
  const mark = keepMark(db, start, tell)

  function close(): void {
    // Optional cleanup: a concurrent reader, such as a backup, may prevent it and is not waited for.
    db.exec('PRAGMA busy_timeout = 100; PRAGMA wal_checkpoint(TRUNCATE)')
    mark.close()
    db.close()
    send(writeAnswers([['done', null]]))
    port.close()
  }

  port.on('message', (first: RequestsText) => {
    const requests = readRequests(first)
    for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port))
      requests.push(...readRequests(more.message as RequestsText))
    const transactional = requests.filter((request): request is Transactional => request.do !== 'close')
    for (let from = 0; from < transactional.length; from += MAX_BATCH) {
      const batch = transactional.slice(from, from + MAX_BATCH)
      const answers = runBatch(batch)
      send(writeAnswers(answers))
      // No request waits for the mark: a process killed in between leaves it without this batch.
      mark.note(batch, answers)
    }
    // The store sends nothing after it, so it is the last request of its batch.
    if (transactional.length < requests.length) close()
  })
  send('ready')
}
