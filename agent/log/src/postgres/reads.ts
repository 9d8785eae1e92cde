/** The read side of the store on Postgres. */
import { type LogStore, pendingGates } from '../store.ts'
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
  | 'getInboxItem'
  | 'listInbox'
  | 'listPendingGates'
  | 'findGrant'
  | 'listArtifacts'
  | 'getArtifact'
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
  getInboxItem: id => reader.getInboxItem(id, now()),
  listInbox: query => reader.listInbox(query, now()),
  listPendingGates: cursor => reader.listInbox(pendingGates(cursor), now()),
  findGrant: (sessionId, tool, argumentsHash) => reader.findGrant(sessionId, tool, argumentsHash, now()),
  listArtifacts: reader.listArtifacts,
  getArtifact: reader.getArtifact,
  leaseOf: id => reader.getSession(id, now()),
  findRetired: reader.findRetired,
})
