/** The read side of the store on Postgres. */
import type { LogStore } from '../store.ts'
import type { Database } from './connections.ts'
import type { Reader } from './reader.ts'
import { readSnapshot } from './snapshots.ts'

export const createReads = (
  db: Database,
  reader: Reader,
  now: () => number,
): Pick<
  LogStore,
  | 'readSnapshot'
  | 'lostAt'
  | 'getSession'
  | 'getSessions'
  | 'lastEvents'
  | 'listSessions'
  | 'leaseOf'
  | 'findRetired'
> => ({
  readSnapshot: (sessionId, version) => readSnapshot(db, sessionId, version),
  // The database protects its own log: if that is damaged, it stops and reports it.
  lostAt: () => Promise.resolve(null),
  getSession: id => reader.getSession(id, now()),
  getSessions: ids => reader.getSessions(ids, now()),
  lastEvents: reader.lastEvents,
  listSessions: query => reader.listSessions(query, now()),
  leaseOf: id => reader.getSession(id, now()),
  findRetired: reader.findRetired,
})
