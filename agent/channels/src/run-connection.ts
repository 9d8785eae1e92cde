/** One connection at work: a loop that accepts and a loop that delivers, each by its lease. */
import type { ChannelFence } from '@cairn/log'
import { acceptRow } from './accept.ts'
import { deliverConversation, deliverNotice } from './deliver.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { holdLease } from './hold-lease.ts'
import { LeaseLost } from './send-part.ts'

const AT_ONCE = 32
const LOOKED_AT = 1000
/** Sessions whose logs are watched; those of the others are found by the poll. */
const WATCHED = 500
const POLL_MS = 1_000
const KEEP_MS = 14 * 24 * 60 * 60_000
const PRUNE_EVERY_MS = 60 * 60_000

export type Running = {
  /** Something came in. */
  nudge(): void
  stop(): Promise<void>
}

export function runConnection(deps: ChannelDeps, connection: Connection, holder: string): Running {
  const { store, report } = deps
  const { channels } = store
  const stopping = new AbortController()
  const { signal } = stopping
  const onError = (error: unknown): void => {
    if (signal.aborted || error instanceof LeaseLost) return
    report('error', 'a channel could not go on', { connection: connection.name, error: String(error) })
  }
  const shared = { connectionId: connection.id, holder, channels, signal, onError, pollMs: POLL_MS }
  const accepting = createSideBySide(onError)
  const delivering = createSideBySide(onError)
  const watches = createWatches(session => store.watch(session, () => deliver.nudge()))

  const accept = holdLease({ ...shared, role: 'consume', idle: accepting.idle }, async () => {
    const rows = await channels.nextInbound(connection.id, AT_ONCE)
    for (const row of rows)
      accepting.begin(row.conversation_key, async () => {
        const session = await acceptRow(deps, connection, row)
        if (session !== null) watches.add(session)
        // Notices too.
        deliver.nudge()
        accept.nudge()
      })
    if (prune.isDue()) await channels.pruneInbound(KEEP_MS)
  })
  const prune = every(PRUNE_EVERY_MS)

  /** How far the log of a running turn was looked at: not again before something has come. */
  const looked = new Map<string, number>()
  const deliver = holdLease({ ...shared, role: 'deliver', idle: delivering.idle }, async epoch => {
    const fence: ChannelFence = { connection_id: connection.id, epoch }
    connection.health.state = (await channels.getConnection(connection.id))?.state ?? 'live'
    if (connection.health.state === 'disabled') return
    for (const notice of await channels.dueNotices(connection.id, AT_ONCE))
      delivering.begin(`notice ${notice.event_id}`, () =>
        deliverNotice(deps, connection, fence, notice, signal),
      )
    const due = await channels.dueConversations(connection.id, LOOKED_AT)
    const dueIds = new Set(due.map(({ session_id }) => session_id))
    for (const id of looked.keys()) if (!dueIds.has(id)) looked.delete(id)
    let isCut = false
    for (const conversation of due) {
      const { session_id, last_id, running } = conversation
      if (running === 1 && looked.get(session_id) === last_id) continue
      if (delivering.size() >= AT_ONCE) {
        isCut = true
        break
      }
      delivering.begin(session_id, async () => {
        const later = await deliverConversation(deps, connection, fence, conversation, signal)
        if (later === null) looked.set(session_id, last_id)
        // Others found no place.
        if (isCut) deliver.nudge()
        // What came while this one was under way found it busy.
        if (later === null && (await isAhead(conversation.session_id, conversation.last_id))) deliver.nudge()
      })
    }
  })

  async function isAhead(sessionId: string, seen: number): Promise<boolean> {
    return ((await store.lastEvents([sessionId])).get(sessionId)?.id ?? 0) > seen
  }

  return {
    nudge: accept.nudge,
    async stop() {
      stopping.abort()
      await Promise.all([accept.ended, deliver.ended])
      watches.clear()
    },
  }
}

/** Runs tasks of different keys side by side and one of a key at a time. */
function createSideBySide(onError: (error: unknown) => void) {
  const running = new Map<string, Promise<void>>()
  return {
    size: () => running.size,
    begin(key: string, task: () => Promise<void>): void {
      if (running.has(key)) return
      const run = task()
        .catch(onError)
        .finally(() => running.delete(key))
      running.set(key, run)
    },
    idle: async () => void (await Promise.all(running.values())),
  }
}

/** The newest watches; the oldest makes room. */
function createWatches(watch: (sessionId: string) => () => void) {
  const stops = new Map<string, () => void>()
  const end = (sessionId: string): void => {
    stops.get(sessionId)?.()
    stops.delete(sessionId)
  }
  return {
    add(sessionId: string): void {
      const stop = stops.get(sessionId) ?? watch(sessionId)
      stops.delete(sessionId)
      stops.set(sessionId, stop)
      for (const [oldest] of stops) {
        if (stops.size <= WATCHED) break
        end(oldest)
      }
    },
    clear(): void {
      for (const [sessionId] of stops) end(sessionId)
    },
  }
}

function every(ms: number): { isDue: () => boolean } {
  let last = -Infinity
  return {
    isDue() {
      const now = performance.now()
      if (now - last < ms) return false
      last = now
      return true
    },
  }
}
