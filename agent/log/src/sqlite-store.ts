/** The embedded store (contract 9): one SQLite file, written by a worker thread, read from here. */
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { isoStamp, type Part } from './commit-rules.ts'
import { lockDirectory } from './data-lock.ts'
import { encodeCommit, encodeSession } from './encode-commit.ts'
import { type StoredItem, toInboxItem } from './inbox-rows.ts'
import { toLink } from './links.ts'
import { createListeners } from './listeners.ts'
import { createLiveCache } from './live-cache.ts'
import { copyDatabase, DATABASE } from './live-copy.ts'
import { openForReading } from './open-reader.ts'
import { createReader } from './reader.ts'
import { composeRecord } from './record-text.ts'
import { createRedactor, type Redact } from './redact.ts'
import { type StoredSession, toSessionRow, unpackSession } from './session-rows.ts'
import { createAccounts } from './sqlite-accounts.ts'
import { createCoordination } from './sqlite-coordination.ts'
import type { Committed, LogStore, SessionRow } from './store.ts'
import { startWriter, type WriterClient } from './writer-client.ts'
import type { ClaimAnswer, CommitAnswer, CommitRequest, PartAnswer, Request } from './writer-messages.ts'

export type SqliteStoreOptions = {
  /** Made if it is not there. One process at a time. */
  dir: string
  /** Epoch milliseconds, for dates: somebody may set this clock at any moment. */
  now?: () => number
  /** Milliseconds of a clock that nobody sets, for leases. */
  monotonic?: () => number
  /** JSON text to JSON text; by default everything that looks like a secret. See createRedactor. */
  redact?: Redact
  /** Told what a person should know: records that are missing, a mark that cannot be written. */
  report?: (level: 'warn' | 'error', message: string) => void
  /** Beside a running server: reads, `check` and `backup` work, whatever writes is refused. */
  readOnly?: boolean
}

/** SQLite gives its files beside the database the same mode, so this one decides for all. */
function keepPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

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
    new Worker(new URL('./check-thread.ts', import.meta.url), { workerData: path }),
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
  } = options
  // Every lease here is of this process. Their times look like dates, for people who read the table, and go
  // on from the date of the start whatever is made of the clock meanwhile.
  const leaseClock = createLeaseClock(now, monotonic)
  if (!readOnly) mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, DATABASE)
  const unlock = readOnly ? () => undefined : lockDirectory(dir)
  if (!readOnly) keepPrivate(path)

  const live = createLiveCache()
  const readers = createListeners<[]>(live.drop)
  const inbox = createListeners<[itemId: string]>()
  const workers = createListeners<[]>()
  const WORK = 'work'

  function grown(at: number, part: Part, answer: PartAnswer, orgId: () => string): void {
    const { session_id } = part
    if (live.has(session_id)) {
      const events =
        answer.reopened && part.reopen !== undefined ? [part.reopen, ...part.events] : part.events
      const session = JSON.stringify(session_id)
      let id = answer.last - events.length
      live.append(
        session_id,
        events.map(([type, data]) => ({
          id: (id += 1),
          type,
          json: composeRecord(id, session, type, isoStamp(at), data),
        })),
      )
    }
    if (part.events.length > 0) readers.call(session_id)
    if (answer.work) workers.call(WORK)
    for (const item of answer.items ?? []) inbox.call(orgId(), item)
  }

  function committed(request: CommitRequest, answer: CommitAnswer): void {
    grown(request.at, request, answer, () => unpackSession(answer.session).org_id)
    for (const [at, part] of (request.also ?? []).entries()) {
      const own = answer.also?.[at]
      if (own !== undefined) grown(request.at, part, own, () => own.org_id)
    }
  }

  function landed(request: Request, value: unknown): void {
    if (request.do === 'commit') committed(request, value as CommitAnswer)
    else if (request.do === 'release' && value === true) workers.call(WORK)
    else if (request.do === 'prune' && (value as { deleted: number }).deleted > 0) live.clear()
    else if (request.do === 'markRead' && value !== null)
      inbox.call((value as StoredItem).org_id, request.item)
  }

  try {
    const writer = readOnly
      ? refuseWrites(dir)
      : await startWriter({ dir, path, now: now() }, { landed, report })
    const { ask } = writer
    const db = openForReading(path)
    const reader = createReader(db)
    let closing: Promise<void> | null = null

    return {
      async createSession(session) {
        const request = { do: 'create', at: now(), ...encodeSession(redact, session) } as const
        return toSessionRow((await ask(request)) as StoredSession)
      },
      async commit(commit): Promise<Committed> {
        const request = encodeCommit(redact, now(), commit)
        const answer = (await ask(request)) as CommitAnswer
        const first = answer.last - request.events.length + 1
        const created_at = isoStamp(request.at)
        let session: SessionRow | undefined
        return {
          events: commit.events.map(({ type }, at) => ({ id: first + at, type, created_at })),
          last_id: answer.last,
          // Most callers never look at it, and it is dearer than the rest of the answer.
          get session() {
            return (session ??= toSessionRow(unpackSession(answer.session)))
          },
        }
      },
      async markRead(item) {
        const at = now()
        const row = (await ask({ do: 'markRead', at, item })) as StoredItem | null
        return row === null ? null : toInboxItem(row, at)
      },

      read: async (sessionId, after, limit, types) =>
        live.read(sessionId, after, limit, types) ?? reader.read(sessionId, after, limit, types),
      watch(sessionId, nudge) {
        live.open(sessionId)
        return readers.add(sessionId, nudge)
      },
      saveSnapshot: async (session_id, snapshot) =>
        (await ask({ do: 'snapshot', at: now(), session_id, snapshot })) as boolean,
      readSnapshot: async (sessionId, version) => reader.readSnapshot(sessionId, version),
      lostAt: async (sessionId, cursor) => reader.lostAt(sessionId, cursor),
      getSession: async id => reader.getSession(id, now()),
      listSessions: async query => reader.listSessions(query, now()),
      getInboxItem: async id => reader.getInboxItem(id, now()),
      listInbox: async query => reader.listInbox(query, now()),
      watchInbox: (orgId, nudge) => inbox.add(orgId, nudge),
      findGrant: async (sessionId, tool, argumentsHash) =>
        reader.findGrant(sessionId, tool, argumentsHash, now()),
      listArtifacts: async sessionId => reader.listArtifacts(sessionId),
      getArtifact: async (sessionId, artifactId) => reader.getArtifact(sessionId, artifactId),

      async claim(workerId, limit, ttlMs) {
        const claims = (await ask({
          do: 'claim',
          at: leaseClock(),
          worker_id: workerId,
          limit,
          ttl: ttlMs,
        })) as ClaimAnswer
        return claims.map(({ session, epoch, abandoned_ms, link }) => ({
          session: toSessionRow(session),
          fence: { worker_id: workerId, epoch },
          abandoned_s: abandoned_ms === null ? null : abandoned_ms / 1000,
          link: link === null ? null : toLink(link),
        }))
      },
      renew: async (workerId, leases, ttlMs) =>
        (await ask({ do: 'renew', at: leaseClock(), worker_id: workerId, leases, ttl: ttlMs })) as string[],
      release: async (sessionId, fence) =>
        void (await ask({ do: 'release', at: leaseClock(), session_id: sessionId, fence })),
      leaseOf: async sessionId => reader.leaseOf(sessionId),
      watchWork: nudge => workers.add(WORK, nudge),

      findRetired: async sessionIds => reader.findRetired(sessionIds),
      probe: async () => void (await ask({ do: 'probe' })),
      async pruneDeltas(before) {
        let total = 0
        for (let key: number | null = 0; key !== null;) {
          const step = (await ask({ do: 'prune', before, after_key: key })) as {
            deleted: number
            key: number | null
          }
          total += step.deleted
          key = step.key
        }
        return total
      },
      check: () => checkInThread(path),
      backup: target => copyDatabase(path, target),
      close() {
        closing ??= writer.close().then(() => {
          db.close()
          unlock()
        })
        return closing
      },
      accounts: createAccounts(db, now, ask),
      coordination: createCoordination(db, now, ask),
    }
  } catch (error) {
    unlock()
    throw error
  }
}
