/** The store on Postgres (contract 9): many processes, one database, the same promises. */
import { randomUUID } from 'node:crypto'
import { asError } from '@cairn/protocol'
import { Refusing, isoStamp } from '../commit-rules.ts'
import { encodeCommit, encodeSession } from '../encode-commit.ts'
import { type StoredItem, toInboxItem } from '../inbox-rows.ts'
import { createListeners } from '../listeners.ts'
import { createRedactor, type Redact } from '../redact.ts'
import { toSessionRow } from '../session-rows.ts'
import { CommitRefused, type Committed, type LogStore, type NewSession, type SessionRow } from '../store.ts'
import { createAccounts } from './accounts.ts'
import { parsePostgresUrl } from './address.ts'
import { checkStore } from './check.ts'
import { closeClient, openClient, openPool, type Report, type Statement } from './connections.ts'
import { claimTimers, createCoordinationReader } from './coordination.ts'
import { createDatabaseClock } from './database-clock.ts'
import { createLeases, DATABASE_NOW } from './leases.ts'
import { createLiveSessions } from './live-sessions.ts'
import { migrate } from './migrate.ts'
import { startNudges } from './nudges.ts'
import { pruneDeltas } from './prune.ts'
import { createReader } from './reader.ts'
import { CHANGED_NOW, type ChangedItem } from './row-changes.ts'
import { CREATE_SESSION, createSessionValues, toStored } from './session-sql.ts'
import { readSnapshot, saveSnapshot } from './snapshots.ts'
import { createWriter, type Writer } from './writer.ts'

export type PostgresStoreOptions = {
  /** postgres://…, with `schema` and `pool` among its parameters if wanted. */
  url: string
  /** Where the URL names none. */
  schema?: string
  /** Epoch milliseconds. By default the database's clock, which all processes share. */
  now?: () => number
  redact?: Redact
  report?: Report
  /** So long a commit waits for a server that cannot be reached, before it fails with nothing written. */
  patienceMs?: number
  /** The slow poll behind the notifications. */
  pollMs?: number
  /** Reads, `check` and nothing else; the schema must be that of this code already. */
  readOnly?: boolean
}
/** What a store has that several processes share. */
export type SharedLogStore = LogStore & {
  /** What all processes hold under that name: `ours` if nobody was first. */
  agreeOn(name: string, ours: string): Promise<string>
}

const POLL_MS = 1_000
const PATIENCE_MS = 15_000
/** So soon work is looked for again that a transaction held for a moment. */
const LOOK_AGAIN_MS = 50

const AGREE: Statement = {
  name: 'agree',
  text: 'INSERT INTO agreements (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING',
}
const AGREED: Statement = { name: 'agreed', text: 'SELECT value FROM agreements WHERE name = $1' }
const PROBE: Statement = {
  name: 'probe',
  text: 'INSERT INTO writers (id, batch) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET seen_at = now()',
}
/** No writer has that id. */
const PROBES = 'probes'
const MARK_READ: Statement = {
  name: 'mark_read',
  text:
    `UPDATE inbox_items SET read_at = coalesce(read_at, $1), changed_at = ${CHANGED_NOW} WHERE id = $2 ` +
    'RETURNING *',
}

const CLOCK: Statement = {
  name: 'clock',
  text: `SELECT ${DATABASE_NOW} AS now`,
}

const refuseWrites = (): Promise<never> =>
  Promise.reject(new Error('[postgres store] it was opened for reading only'))
const READING_ONLY: Writer = { commit: refuseWrites, close: () => Promise.resolve() }

export async function openPostgresStore(options: PostgresStoreOptions): Promise<SharedLogStore> {
  const {
    redact = createRedactor(),
    report = () => undefined,
    pollMs = POLL_MS,
    patienceMs = PATIENCE_MS,
    readOnly = false,
  } = options
  const address = parsePostgresUrl(options.url, options.schema)
  // In the form of a writer: it is refused where acknowledged would not mean on disk.
  const first = await openClient(address, 'plain', () => undefined, { mustBeSafe: !readOnly })
  try {
    await migrate(first, address.schema, { mayWrite: !readOnly })
  } finally {
    closeClient(first)
  }

  await using opened = new AsyncDisposableStack()
  const db = openPool(address, report)
  opened.defer(() => db.close())
  const now =
    options.now ??
    (await createDatabaseClock(
      async () => Number((await db.query(CLOCK, [], { repeatable: true }))[0]?.['now']),
      report,
    ))
  const self = randomUUID()
  const reader = createReader(db)
  const live = createLiveSessions(reader.read, report)
  const watchedOrgs = createListeners<[itemId: string]>()
  const workers = createListeners<[]>()
  const WORK = 'work'
  const told = createTold()

  const nudges = await startNudges(address, db, self, {
    pollMs,
    report,
    watched: () => ({ sessions: live.watched(), orgs: watchedOrgs.subjects() }),
    heard: {
      grew: live.grew,
      pruned: live.pruned,
      work: () => workers.call(WORK),
      itemChanged(orgId, item) {
        if (told.isNew(item)) watchedOrgs.call(orgId, item.id)
      },
    },
  })
  opened.defer(() => nudges.close())
  function freed(): void {
    workers.call(WORK)
    nudges.tell({ w: 1 })
  }
  function itemChanged(orgId: string, item: ChangedItem): void {
    told.isNew(item)
    watchedOrgs.call(orgId, item.id)
    nudges.tell({ i: [orgId, item.id, item.at] })
  }
  const leases = createLeases(db, options.now ?? null, freed)
  const writer = readOnly
    ? READING_ONLY
    : createWriter(address, self, {
        report,
        patienceMs,
        landed: (_, done) => {
          for (const { events, items, session, work } of [done, ...done.also]) {
            const last = events.at(-1)
            if (events[0] !== undefined && last !== undefined) {
              live.committed(session.id, events)
              nudges.tell({ s: [session.id, events[0].id, last.id] })
            }
            if (work) freed()
            for (const item of items) itemChanged(session.org_id, item)
          }
        },
      })
  opened.defer(() => writer.close())
  const parts = opened.move()
  let closing: Promise<void> | null = null

  async function createSession(session: NewSession): Promise<SessionRow> {
    const [row] = await db.query(CREATE_SESSION, createSessionValues(encodeSession(redact, session), now()))
    if (row === undefined) throw new Error(`[createSession] session ${session.id} exists already`)
    return toSessionRow(toStored(row))
  }

  return {
    createSession: readOnly ? refuseWrites : createSession,
    async commit(commit): Promise<Committed> {
      const request = encodeCommit(redact, now(), commit)
      const done = await writer.commit(request).catch((error: unknown) => {
        if (!(error instanceof Refusing)) throw error
        const { refusal, detail, session, item } = error
        throw new CommitRefused(
          refusal,
          detail,
          session === null ? null : toSessionRow(session),
          item === null ? null : toInboxItem(item, request.at),
        )
      })
      const firstId = done.last - request.events.length + 1
      const created_at = isoStamp(request.at)
      return {
        events: commit.events.map(({ type }, at) => ({ id: firstId + at, type, created_at })),
        last_id: done.last,
        session: toSessionRow(done.session),
      }
    },
    async markRead(itemId) {
      if (readOnly) return refuseWrites()
      const at = now()
      const [row] = (await db.query(MARK_READ, [at, itemId], {
        repeatable: true,
      })) as unknown as (StoredItem & { changed_at: number })[]
      if (row === undefined) return null
      itemChanged(row.org_id, { id: row.id, at: row.changed_at })
      return toInboxItem(row, at)
    },

    read: live.read,
    watch: live.watch,
    saveSnapshot: (sessionId, snapshot) =>
      readOnly ? refuseWrites() : saveSnapshot(db, sessionId, snapshot),
    readSnapshot: (sessionId, version) => readSnapshot(db, sessionId, version),
    // The database looks after its own log: it stops where that is damaged, and says so.
    lostAt: () => Promise.resolve(null),
    getSession: id => reader.getSession(id, now()),
    listSessions: query => reader.listSessions(query, now()),
    getInboxItem: id => reader.getInboxItem(id, now()),
    listInbox: query => reader.listInbox(query, now()),
    watchInbox: (orgId, nudge) => watchedOrgs.add(orgId, nudge),
    findGrant: (sessionId, tool, argumentsHash) => reader.findGrant(sessionId, tool, argumentsHash, now()),
    listArtifacts: reader.listArtifacts,
    getArtifact: reader.getArtifact,

    async claim(workerId, limit, ttlMs) {
      const { claims, more } = await leases.claim(workerId, limit, ttlMs)
      if (more) setTimeout(() => workers.call(WORK), LOOK_AGAIN_MS).unref()
      return claims
    },
    renew: leases.renew,
    release: leases.release,
    leaseOf: id => reader.getSession(id, now()),
    watchWork: nudge => workers.add(WORK, nudge),

    findRetired: reader.findRetired,
    probe: async () =>
      readOnly ? refuseWrites() : void (await db.query(PROBE, [PROBES], { repeatable: true })),
    async pruneDeltas(before) {
      const deleted = await pruneDeltas(db, before)
      if (deleted > 0) {
        live.pruned()
        nudges.tell({ p: 1 })
      }
      return deleted
    },
    check: () => checkStore(db),
    backup: () =>
      Promise.reject(
        new Error(
          `[backup] the store is in Postgres (${address.shown}), which copies itself: pg_dump ` +
            `--format=custom --schema=${address.schema} --file=cairn.dump DATABASE_URL`,
        ),
      ),
    close() {
      closing ??= parts
        .disposeAsync()
        .catch((error: unknown) =>
          report('warn', 'closing the store failed', { error: asError(error).message }),
        )
      return closing
    },
    accounts: createAccounts(db, now),
    coordination: {
      ...createCoordinationReader(db),
      claimTimers: (by, limit, ttlMs) =>
        readOnly ? refuseWrites() : claimTimers(db, now(), by, limit, ttlMs),
    },
    async agreeOn(name, ours) {
      await db.query(AGREE, [name, ours], { repeatable: true })
      const [agreed] = await db.query(AGREED, [name], { repeatable: true })
      return String(agreed?.['value'])
    },
  }
}

/** Which changes of inbox items have been told here: a notification and the poll both bring the same one. */
function createTold() {
  const MOST = 10_000
  const last = new Map<string, number>()
  return {
    isNew({ id, at }: ChangedItem): boolean {
      if ((last.get(id) ?? -1) >= at) return false
      last.delete(id)
      last.set(id, at)
      const [oldest] = last.keys()
      if (last.size > MOST && oldest !== undefined) last.delete(oldest)
      return true
    },
  }
}
