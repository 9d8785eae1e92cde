/** The write side of the store on Postgres: commits through the process's writer, all else on the pool. */
import { Refusing } from '../commit-rules.ts'
import { toCommitted } from '../committed.ts'
import { encodeCommit, encodeSession } from '../encode-commit.ts'
import { BESIDE_SQL, type StoredItem, toInboxItem } from '../inbox-rows.ts'
import type { Redact } from '../redact.ts'
import { CommitRefused } from '../refusals.ts'
import { toSessionRow } from '../session-rows.ts'
import type { LogStore } from '../store.ts'
import type { Database, Statement } from './connections.ts'
import { claimTimers } from './coordination.ts'
import { pruneDeltas } from './prune.ts'
import { CHANGED_NOW } from './row-changes.ts'
import { CREATE_SESSION, createSessionValues, toStored } from './session-sql.ts'
import { saveSnapshot } from './snapshots.ts'
import type { Watchers } from './watchers.ts'
import type { Writer } from './writer.ts'

const PROBE: Statement = {
  name: 'probe',
  text: 'INSERT INTO writers (id, batch) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET seen_at = now()',
}
/** Not the id of any writer. */
const PROBES = 'probes'
const MARK_READ: Statement = {
  name: 'mark_read',
  text:
    `UPDATE inbox_items SET read_at = coalesce(read_at, $1), changed_at = ${CHANGED_NOW} WHERE id = $2 ` +
    `RETURNING *, ${BESIDE_SQL}`,
}

export type Writes = Pick<
  LogStore,
  'createSession' | 'commit' | 'markRead' | 'saveSnapshot' | 'probe' | 'pruneDeltas'
> & { claimTimers: LogStore['coordination']['claimTimers'] }

type WritesDeps = { db: Database; writer: Writer; watchers: Watchers; redact: Redact; now: () => number }

export function createWrites({ db, writer, watchers, redact, now }: WritesDeps): Writes {
  return {
    async createSession(session) {
      const values = createSessionValues(encodeSession(redact, session), now())
      const [row] = await db.query(CREATE_SESSION, values)
      if (row === undefined) throw new Error(`[createSession] session ${session.id} exists already`)
      watchers.created(session.id)
      return toSessionRow(toStored(row))
    },
    async commit(commit) {
      const request = encodeCommit(redact, now(), commit)
      const done = await writer.commit(request).catch((error: unknown) => {
        throw error instanceof Refusing ? toRefusal(error, request.at) : error
      })
      return toCommitted(commit, request.at, done.last, () => toSessionRow(done.session))
    },
    async markRead(itemId) {
      const at = now()
      const [row] = (await db.query(MARK_READ, [at, itemId], {
        repeatable: true,
      })) as unknown as (StoredItem & { changed_at: number })[]
      if (row === undefined) return null
      watchers.itemChanged(row.org_id, { id: row.id, at: row.changed_at })
      return toInboxItem(row, at)
    },
    saveSnapshot: (sessionId, snapshot) => saveSnapshot(db, sessionId, snapshot),
    probe: async () => void (await db.query(PROBE, [PROBES], { repeatable: true })),
    async pruneDeltas(before) {
      const deleted = await pruneDeltas(db, before)
      if (deleted > 0) watchers.pruned()
      return deleted
    },
    claimTimers: (by, limit, ttlMs) => claimTimers(db, now(), by, limit, ttlMs),
  }
}

const toRefusal = ({ refusal, detail, session, item }: Refusing, at: number): CommitRefused =>
  new CommitRefused(
    refusal,
    detail,
    session === null ? null : toSessionRow(session),
    item === null ? null : toInboxItem(item, at),
  )

const refuse = (): Promise<never> =>
  Promise.reject(new Error('[postgres store] it was opened for reading only'))

/** For a store that was opened read-only. */
export const NO_WRITES: Writes = {
  createSession: refuse,
  commit: refuse,
  markRead: refuse,
  saveSnapshot: refuse,
  probe: refuse,
  pruneDeltas: refuse,
  claimTimers: refuse,
}
