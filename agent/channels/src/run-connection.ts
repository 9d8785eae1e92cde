/** Runs one connection: a loop that accepts and a loop that delivers, each under its lease. */
import { acceptRow } from './accept.ts'
import { createConsumer } from './consume.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { HELD_MS, holdLease } from './hold-lease.ts'
import { createOutgoing } from './outgoing.ts'
import { LeaseLost } from './send-part.ts'
import { createKeyedTasks } from './keyed-tasks.ts'

const AT_ONCE = 32
/** Maximum sessions whose logs are watched; the poll covers the others. */
const WATCHED = 500
const POLL_MS = 1_000
const KEEP_MS = 14 * 24 * 60 * 60_000
const PRUNE_EVERY_MS = 60 * 60_000

export type Running = {
  /** An event was received. */
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
    report('error', 'channel failed', { connection: connection.name, error: String(error) })
  }
  const shared = { connectionId: connection.id, holder, channels, signal, onError, pollMs: POLL_MS }
  const accepting = createKeyedTasks(onError)
  const watches = createWatches(session => store.events.watch(session, () => deliver.nudge()))

  const consumer = createConsumer(deps, connection, () => accept.nudge())
  signal.addEventListener('abort', consumer.lapse, { once: true })
  const idle = async (): Promise<void> => {
    await consumer.ended()
    await accepting.idle()
  }
  // Visitors of a website wait for the commit of their own row instead.
  const isBrought = connection.adapter.webhook !== null || connection.adapter.consume !== undefined
  const accept = holdLease({ ...shared, role: 'consume', onLapse: consumer.lapse, idle }, async () => {
    consumer.go(HELD_MS)
    const rows = isBrought ? await channels.nextInbound(connection.id, AT_ONCE) : []
    for (const row of rows)
      accepting.begin(row.conversation_key, async () => {
        const session = await acceptRow(deps, connection, row)
        if (session !== null) watches.add(session)
        // For automatic replies too.
        deliver.nudge()
        accept.nudge()
      })
    if (!prune.isDue()) return
    await channels.pruneInbound(KEEP_MS)
    await channels.pruneDeliveries(connection.id, KEEP_MS)
    await channels.pruneVisitors(connection.id)
  })
  const prune = every(PRUNE_EVERY_MS)

  const later = (afterMs = 0): void => {
    if (afterMs === 0) deliver.nudge()
    // The poll covers longer delays.
    else if (afterMs < POLL_MS) setTimeout(() => deliver.nudge(), afterMs).unref()
  }
  const outgoing = createOutgoing(deps, connection, signal, onError, later)
  const deliver = holdLease({ ...shared, role: 'deliver', idle: outgoing.idle }, outgoing.pass)

  return {
    nudge: accept.nudge,
    async stop() {
      stopping.abort()
      await Promise.all([accept.ended, deliver.ended])
      watches.clear()
    },
  }
}

/** Keeps the newest watches and drops the oldest. */
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
