/** The read side of the embedded store, on this thread. */
import type { Reader } from './reader.ts'
import type { LogStore } from '../store.ts'
import type { Watchers } from './watchers.ts'

export const createReads = (
  reader: Reader,
  { read }: Pick<Watchers, 'read'>,
  now: () => number,
): Pick<
  LogStore,
  | 'read'
  | 'readSnapshot'
  | 'lostAt'
  | 'getSession'
  | 'getSessions'
  | 'lastEvents'
  | 'listSessions'
  | 'leaseOf'
  | 'findRetired'
> => ({
  async read(sessionId, after, limit, types) {
    const newest = read(sessionId, after, limit, types)
    // An apparent end of the log is read from disk: a commit is there before the writer's answer arrives.
    return newest !== null && newest.length > 0 ? newest : reader.read(sessionId, after, limit, types)
  },
  readSnapshot: async (sessionId, version) => reader.readSnapshot(sessionId, version),
  lostAt: async (sessionId, cursor) => reader.lostAt(sessionId, cursor),
  getSession: async id => reader.getSession(id, now()),
  getSessions: async ids => reader.getSessions(ids, now()),
  async lastEvents(ids) {
    const last = reader.getSessions(ids, now()).map(({ id, last_event_id }) => {
      const [event] = reader.read(id, last_event_id - 1, 1)
      return event === undefined ? [] : ([[id, event]] as const)
    })
    return new Map(last.flat())
  },
  listSessions: async query => reader.listSessions(query, now()),
  leaseOf: async sessionId => reader.leaseOf(sessionId),
  findRetired: async sessionIds => reader.findRetired(sessionIds),
})
