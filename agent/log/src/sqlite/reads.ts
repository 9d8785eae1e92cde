/** The read side of the embedded store, on this thread. */
import type { Reader } from './reader.ts'
import type { EventStore, LeaseStore, SessionStore, SnapshotStore } from '../store.ts'
import type { Watchers } from './watchers.ts'

type Reads = {
  sessions: Omit<SessionStore, 'create' | 'watch'>
  events: Omit<EventStore, 'watch' | 'pruneDeltas'>
  readSnapshot: SnapshotStore['read']
  leaseOf: LeaseStore['get']
  countDue: LeaseStore['countDue']
}

export const createReads = (
  reader: Reader,
  { read }: Pick<Watchers, 'read'>,
  now: () => number,
  leaseClock: () => number,
): Reads => ({
  sessions: {
    get: async id => reader.getSession(id, now()),
    getMany: async ids => reader.getSessions(ids, now()),
    list: async query => reader.listSessions(query, now()),
    retired: async sessionIds => reader.findRetired(sessionIds),
  },
  events: {
    async read(sessionId, after, limit, types) {
      const newest = read(sessionId, after, limit, types)
      // An apparent end of the log is read from disk: a commit is there before the writer's answer arrives.
      return newest !== null && newest.length > 0 ? newest : reader.read(sessionId, after, limit, types)
    },
    lostAt: async (sessionId, cursor) => reader.lostAt(sessionId, cursor),
    async last(ids) {
      const last = reader.getSessions(ids, now()).map(({ id, last_event_id }) => {
        const [event] = reader.read(id, last_event_id - 1, 1)
        return event === undefined ? [] : ([[id, event]] as const)
      })
      return new Map(last.flat())
    },
  },
  readSnapshot: async (sessionId, version) => reader.readSnapshot(sessionId, version),
  leaseOf: async sessionId => reader.leaseOf(sessionId),
  countDue: async () => reader.countDue(leaseClock()),
})
