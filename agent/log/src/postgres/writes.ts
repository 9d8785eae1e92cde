/** The write side of the store on Postgres: commits through the process's writer, all else on the pool. */
import { Refusing } from '../engine/refusing.ts'
import { toCommitted } from '../engine/committed.ts'
import { encodeCommit, encodeSession } from '../engine/encode-commit.ts'
import type { Ask } from '../engine/resource.ts'
import { encodeRow } from '../resources/index.ts'
import { toInboxItem } from '../resources/inbox/stored-item.ts'
import type { Redact } from '../engine/redact.ts'
import { CommitRefused } from '../refusals.ts'
import { toSessionRow } from '../engine/session-rows.ts'
import type { EventStore, LogStore, SessionStore, SnapshotStore } from '../store.ts'
import type { Database, Statement } from './connections.ts'
import { pruneDeltas } from './prune.ts'
import { insertSession } from './session-sql.ts'
import { saveSnapshot } from './snapshots.ts'
import type { Watchers } from './watchers.ts'
import type { Writer } from './writer.ts'

const PROBE: Statement = {
  name: 'probe',
  text: 'INSERT INTO writers (id, batch) VALUES ($1, 0) ON CONFLICT (id) DO UPDATE SET seen_at = now()',
}
/** Not the id of any writer. */
const PROBES = 'probes'
export type Writes = Pick<LogStore, 'commit' | 'probe'> & {
  createSession: SessionStore['create']
  saveSnapshot: SnapshotStore['save']
  pruneDeltas: EventStore['pruneDeltas']
}

type WritesDeps = { db: Database; writer: Writer; watchers: Watchers; redact: Redact; now: () => number }

export function createWrites({ db, writer, watchers, redact, now }: WritesDeps): Writes {
  return {
    async createSession(session) {
      const ask: Ask = (statement, values) => db.query(statement, values)
      const row = await insertSession(ask, encodeSession(redact, session), now())
      if (row === null) throw new Error(`[createSession] session ${session.id} exists already`)
      watchers.created(session.id)
      return toSessionRow(row)
    },
    async commit(commit) {
      const request = encodeCommit({ redact, encodeRow }, now(), commit)
      const done = await writer.commit(request).catch((error: unknown) => {
        throw error instanceof Refusing ? toRefusal(error, request.at) : error
      })
      return toCommitted(commit, request.at, done.last, () => toSessionRow(done.session))
    },
    saveSnapshot: (sessionId, snapshot) => saveSnapshot(db, sessionId, snapshot),
    probe: async () => void (await db.query(PROBE, [PROBES], { repeatable: true })),
    async pruneDeltas(before) {
      const deleted = await pruneDeltas(db, before)
      if (deleted > 0) watchers.pruned()
      return deleted
    },
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
  saveSnapshot: refuse,
  probe: refuse,
  pruneDeltas: refuse,
}
