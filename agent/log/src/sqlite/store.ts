/** The embedded store (contract 9): one SQLite file, written by a worker thread, read from here. */
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { moduleBeside } from '@cairn/tooling/beside'
import { lockDirectory } from './data-lock.ts'
import { keepPrivate } from './keep-private.ts'
import { copyDatabase, DATABASE } from './live-copy.ts'
import { createSqliteSearch } from './search/search.ts'
import { openForReading } from './open-reader.ts'
import { createReader } from './reader.ts'
import { createRedactor, type Redact } from '../engine/redact.ts'
import { createReads } from './reads.ts'
import { createResourceStores } from './resource-stores.ts'
import { createWatchers } from './watchers.ts'
import { createLeases, createWrites } from './writes.ts'
import type { LogStore } from '../store.ts'
import { type StartThread, startWriter, type WriterClient } from './writer-client.ts'

export type SqliteStoreOptions = {
  /** Created if it does not exist. One process at a time. */
  dir: string
  /** Epoch milliseconds, for dates: the clock may be set at any moment. */
  now?: () => number
  /** Monotonic milliseconds, for leases. */
  monotonic?: () => number
  /** JSON text to JSON text; by default removes everything that looks like a secret. See createRedactor. */
  redact?: Redact
  /** Called with messages for a person: missing records, a mark that cannot be written. */
  report?: (level: 'warn' | 'error', message: string) => void
  /** For use beside a running server: reads, `check` and `backup` work, writes are rejected. */
  readOnly?: boolean
  /** Starts the writer; by default in a thread. */
  startThread?: StartThread
}

/** Beside the log, and rebuilt if missing: backups need not include it. */
const SEARCH_DATABASE = 'search.db'

function refuseWrites(dir: string): WriterClient {
  return {
    ask: request =>
      Promise.reject(new Error(`[${request.do}] the store in ${dir} was opened for reading only`)),
    close: () => Promise.resolve(),
  }
}

function createLeaseClock(now: () => number, monotonic: () => number): () => number {
  const date = now()
  const start = monotonic()
  return () => date + Math.round(monotonic() - start)
}

async function checkInThread(path: string): Promise<string[]> {
  const [problems] = (await once(
    new Worker(moduleBeside(import.meta, './check-thread'), { workerData: path }),
    'message',
  )) as [string[]]
  return problems
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<LogStore> {
  const {
    dir,
    now = Date.now,
    monotonic = () => performance.now(),
    redact = createRedactor(),
    report = () => undefined,
    readOnly = false,
    startThread,
  } = options
  // Every lease here belongs to this process. Lease times look like dates, for people who read the table, and
  // advance from the start date whatever happens to the wall clock.
  const leaseClock = createLeaseClock(now, monotonic)
  if (!readOnly) mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, DATABASE)
  const unlock = readOnly ? () => undefined : lockDirectory(dir)
  if (!readOnly) keepPrivate(path)

  try {
    const watchers = createWatchers()
    const search = createSqliteSearch({
      path: join(dir, SEARCH_DATABASE),
      log: path,
      now,
      report,
      readOnly,
      watch: watchers.watchIndexed,
    })
    const writer = readOnly
      ? refuseWrites(dir)
      : await startWriter({ dir, path, now: now() }, { landed: watchers.landed, report }, startThread)
    const { ask } = writer
    const db = openForReading(path)
    const stores = createResourceStores(db, now, ask)
    let closing: Promise<void> | null = null

    const writes = createWrites(ask, redact, now)
    const reads = createReads(createReader(db), watchers, now, leaseClock)

    return {
      ...stores,
      commit: writes.commit,
      sessions: { ...reads.sessions, create: writes.createSession, watch: watchers.watchSessions },
      events: { ...reads.events, watch: watchers.watch, pruneDeltas: writes.pruneDeltas },
      snapshots: { read: reads.readSnapshot, save: writes.saveSnapshot },
      leases: {
        ...createLeases(ask, leaseClock),
        get: reads.leaseOf,
        countDue: reads.countDue,
        watch: watchers.watchWork,
      },
      inbox: { ...stores.inbox, watch: watchers.watchInbox },
      search,
      probe: writes.probe,
      check: () => checkInThread(path),
      backup: target => copyDatabase(path, target),
      close() {
        closing ??= Promise.all([writer.close(), search.close()]).then(() => {
          db.close()
          unlock()
        })
        return closing
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}
