/** The read side of the store on Postgres. */
import type { EventStore, LeaseStore, SessionStore, SnapshotStore } from '../store.ts'
import type { Database } from './connections.ts'
import type { Reader } from './reader.ts'
import { readSnapshot } from './snapshots.ts'

type Reads = {
  sessions: Omit<SessionStore, 'create' | 'watch'>
  events: Pick<EventStore, 'lostAt' | 'last'>
  readSnapshot: SnapshotStore['read']
  leaseOf: LeaseStore['get']
}

export const createReads = (db: Database, reader: Reader, now: () => number): Reads => ({
  sessions: {
    get: id => reader.getSession(id, now()),
    getMany: ids => reader.getSessions(ids, now()),
    list: query => reader.listSessions(query, now()),
    retired: reader.findRetired,
  },
  events: {
    // The database protects its own log: if that is damaged, it stops and reports it.
    lostAt: () => Promise.resolve(null),
    last: reader.lastEvents,
  },
  readSnapshot: (sessionId, version) => readSnapshot(db, sessionId, version),
  leaseOf: id => reader.getSession(id, now()),
})
