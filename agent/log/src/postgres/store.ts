/** The store on Postgres (contract 9): many processes, one database, the same guarantees. */
import { randomUUID } from 'node:crypto'
import { asError } from '@cairn/protocol'
import { createRedactor, type Redact } from '../engine/redact.ts'
import type { LogStore } from '../store.ts'
import { parsePostgresUrl, type PostgresAddress } from './address.ts'
import { checkStore } from './check.ts'
import {
  closeClient,
  type Database,
  openClient,
  openPool,
  type Report,
  type Statement,
} from './connections.ts'
import { createDatabaseClock } from './database-clock.ts'
import { DATABASE_NOW } from './database-now.ts'
import { createLeases } from './leases.ts'
import { migrate } from './migrate.ts'
import { createReader } from './reader.ts'
import { createReads } from './reads.ts'
import { createResourceStores } from './resource-stores.ts'
import { createSearch } from './search.ts'
import { startWatchers } from './watchers.ts'
import { createWriter } from './writer.ts'
import { createWrites, NO_WRITES } from './writes.ts'

export type PostgresStoreOptions = {
  /** postgres://…, with optional parameters `schema` and `pool`. */
  url: string
  /** The default if the URL does not contain it. */
  schema?: string
  /** Epoch milliseconds. By default the database's clock, which all processes share. */
  now?: () => number
  redact?: Redact
  report?: Report
  /** How long a commit waits for an unreachable server before it fails with nothing written. */
  patienceMs?: number
  /** Interval of the poll that backs up the notifications. */
  pollMs?: number
  /** Allows only reads and `check`; requires the current schema. */
  readOnly?: boolean
}
/** A store that several processes can share. */
export type SharedLogStore = LogStore & {
  /** The value that all processes share under that name: `ours` for the first process. */
  agreeOn(name: string, ours: string): Promise<string>
}

const POLL_MS = 1_000
const MAX_WAIT_MS = 15_000
const AGREE: Statement = {
  name: 'agree',
  text: 'INSERT INTO agreements (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING',
}
const AGREED: Statement = { name: 'agreed', text: 'SELECT value FROM agreements WHERE name = $1' }
const CLOCK: Statement = {
  name: 'clock',
  text: `SELECT ${DATABASE_NOW} AS now`,
}

/**
 * Migrates the schema. Throws if the server's settings do not make commits durable. A migration of a large
 * table, or of another process that is waited for, may take any time.
 */
async function prepareSchema(address: PostgresAddress, readOnly: boolean): Promise<void> {
  const client = await openClient(address, 'plain', () => undefined, { mustBeSafe: !readOnly, queryMs: 0 })
  try {
    await migrate(client, address.schema, { mayWrite: !readOnly })
  } finally {
    closeClient(client)
  }
}

const readClock = async (db: Database): Promise<number> =>
  Number((await db.query(CLOCK, [], { repeatable: true }))[0]?.['now'])

export async function openPostgresStore(options: PostgresStoreOptions): Promise<SharedLogStore> {
  const { report = () => undefined, readOnly = false } = options
  const address = parsePostgresUrl(options.url, options.schema)
  await prepareSchema(address, readOnly)

  await using opened = new AsyncDisposableStack()
  const db = openPool(address, report)
  opened.defer(() => db.close())
  const now = options.now ?? (await createDatabaseClock(() => readClock(db), report))
  const self = randomUUID()
  const reader = createReader(db)
  const watchers = await startWatchers(address, {
    db,
    self,
    readEvents: reader.read,
    pollMs: options.pollMs ?? POLL_MS,
    report,
  })
  opened.defer(() => watchers.close())

  const reads = createReads(db, reader, now)
  const search = createSearch({
    db,
    // Not from the cache, which may be a commit behind the row that says how far to index.
    logs: { getSession: reads.sessions.get, read: reader.read },
    watch: watchers.watchIndexed,
    now,
    report,
  })
  opened.defer(() => search.close())

  const { redact = createRedactor(), patienceMs = MAX_WAIT_MS } = options
  const writer = readOnly
    ? null
    : createWriter(address, self, { report, patienceMs, landed: (_, done) => watchers.landed(done) })
  // Opened last, closed first: after `close` no more commits are possible.
  if (writer !== null) opened.defer(() => writer.close())
  const writes = writer === null ? NO_WRITES : createWrites({ db, writer, watchers, redact, now })
  const leases = createLeases(db, options.now ?? null, watchers)
  const stores = createResourceStores(db, { now, itemChanged: watchers.itemChanged, readOnly })
  const parts = opened.move()
  let closing: Promise<void> | null = null

  return {
    ...stores,
    commit: writes.commit,
    sessions: { ...reads.sessions, create: writes.createSession, watch: watchers.watchSessions },
    events: {
      ...reads.events,
      read: watchers.read,
      watch: watchers.watch,
      pruneDeltas: writes.pruneDeltas,
    },
    snapshots: { read: reads.readSnapshot, save: writes.saveSnapshot },
    leases: { ...leases, get: reads.leaseOf, watch: watchers.watchWork },
    inbox: { ...stores.inbox, watch: watchers.watchInbox },
    search,
    probe: writes.probe,
    check: () => checkStore(db),
    backup: () => refuseBackup(address),
    close() {
      closing ??= parts
        .disposeAsync()
        .catch((error: unknown) =>
          report('warn', 'closing the store failed', { error: asError(error).message }),
        )
      return closing
    },
    agreeOn: (name, ours) => agreeOn(db, name, ours),
  }
}

const refuseBackup = ({ shown, schema }: PostgresAddress): Promise<never> =>
  Promise.reject(
    new Error(
      `[backup] the store is in Postgres (${shown}), which copies itself: pg_dump --format=custom ` +
        `--schema=${schema} --file=cairn.dump DATABASE_URL`,
    ),
  )

async function agreeOn(db: Database, name: string, ours: string): Promise<string> {
  await db.query(AGREE, [name, ours], { repeatable: true })
  const [agreed] = await db.query(AGREED, [name], { repeatable: true })
  return String(agreed?.['value'])
}
