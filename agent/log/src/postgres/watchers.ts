/** Watchers of the store in this process, notified of its own writes and of other processes'. */
import { createCallbacks, createListeners } from '../engine/listeners.ts'
import { isIndexed } from '../resources/search/entries.ts'
import { heldEpoch } from '../engine/session-rows.ts'
import type { EventStore, InboxWatch, LeaseStore, SessionStore } from '../store.ts'
import type { PostgresAddress } from './address.ts'
import type { Database, Report } from './connections.ts'
import { createLiveSessions, type LiveSessions } from './live-sessions.ts'
import { startNotifications } from './notifications.ts'
import type { ChangedItem } from '../engine/resource.ts'
import type { Done } from './transact.ts'

/** Delay before another claim for work that a transaction had locked. */
const REPOLL_MS = 50
const WORK = 'work'

export type Watchers = {
  read: EventStore['read']
  watch: EventStore['watch']
  watchInbox: InboxWatch['watch']
  watchSessions: SessionStore['watch']
  watchWork: LeaseStore['watch']
  /** New sessions and sessions with new searchable events, as written by this process. */
  watchIndexed: SessionStore['watch']
  created(sessionId: string): void
  /** A write of this process: sessions grew, items changed, work may have appeared. */
  landed(done: Done): void
  itemChanged(orgId: string, item: ChangedItem): void
  freed(): void
  pruned(): void
  /** Another transaction held further work at that moment. */
  lookAgain(): void
  close(): Promise<void>
}

export type WatcherOptions = {
  db: Database
  /** The name of this process among the others. */
  self: string
  readEvents: LiveSessions['read']
  pollMs: number
  report: Report
}

export async function startWatchers(
  address: PostgresAddress,
  { db, self, readEvents, pollMs, report }: WatcherOptions,
): Promise<Watchers> {
  const live = createLiveSessions(readEvents, report)
  const orgs = createListeners<[itemId: string]>()
  const workers = createListeners<[]>()
  const sessions = createCallbacks<[sessionId: string]>()
  const indexed = createCallbacks<[sessionId: string]>()
  const told = createNotified()
  const { tell, close } = await startNotifications(address, db, self, {
    pollMs,
    report,
    watched: () => ({ sessions: live.watched(), orgs: orgs.subjects() }),
    heard: {
      grew(sessionId, from, to) {
        live.grew(sessionId, from, to)
        sessions.call(sessionId)
      },
      pruned: live.pruned,
      work: () => workers.call(WORK),
      itemChanged(orgId, item) {
        if (told.isNew(item)) orgs.call(orgId, item.id)
      },
    },
  })

  function freed(): void {
    workers.call(WORK)
    tell({ w: 1 })
  }
  function itemChanged(orgId: string, item: ChangedItem): void {
    told.isNew(item)
    orgs.call(orgId, item.id)
    tell({ i: [orgId, item.id, item.at] })
  }
  return {
    read: live.read,
    watch: live.watch,
    watchInbox: (orgId, onChange) => orgs.add(orgId, onChange),
    watchSessions: onChange => sessions.add(onChange),
    watchIndexed: onChange => indexed.add(onChange),
    created(sessionId) {
      indexed.call(sessionId)
      sessions.call(sessionId)
    },
    watchWork: onChange => workers.add(WORK, onChange),
    landed(done) {
      for (const { events, items, session, work } of [done, ...done.also]) {
        const last = events.at(-1)
        if (events[0] !== undefined && last !== undefined) {
          live.committed(session.id, events, heldEpoch(session))
          tell({ s: [session.id, events[0].id, last.id] })
        }
        if (events.some(({ type }) => isIndexed(type))) indexed.call(session.id)
        sessions.call(session.id)
        if (work) freed()
        for (const item of items) itemChanged(session.org_id, item)
      }
    },
    itemChanged,
    freed,
    pruned() {
      live.pruned()
      tell({ p: 1 })
    },
    lookAgain: () => void setTimeout(() => workers.call(WORK), REPOLL_MS).unref(),
    close,
  }
}

/** Deduplicates changes of inbox items, which a notification and the poll may both report. */
function createNotified() {
  const MAX_ENTRIES = 10_000
  const last = new Map<string, number>()
  return {
    isNew({ id, at }: ChangedItem): boolean {
      if ((last.get(id) ?? -1) >= at) return false
      last.delete(id)
      last.set(id, at)
      const [oldest] = last.keys()
      if (last.size > MAX_ENTRIES && oldest !== undefined) last.delete(oldest)
      return true
    },
  }
}
