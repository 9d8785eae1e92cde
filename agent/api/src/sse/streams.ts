/**
 * Every open stream of this process: the heartbeat, cutting off who takes nothing, ending those whose
 * credential was revoked, draining.
 */
import type { LogStore } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { Log, Tuning } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Connection, takeConnection } from './connection.ts'
import { DRAINING, KEEP_ALIVE } from './frames.ts'
import { createSessionHub, MAX_UNSENT, type SessionHub } from './session-hub.ts'

/** A stream that has something unsent and took nothing for so long is dead, however little it is. */
const DEAD_MS = 30_000
/** How often the credentials behind open streams are looked at, for revocations by other processes. */
const STANDING_MS = 15_000

type Open = { connection: Connection; identity: Identity; lacks: () => number }
export type Streams = {
  /** Streams the log of a session after a cursor, until the client leaves. */
  openSession(exchange: Exchange, identity: Identity, sessionId: string, after: EventId): void
  /** A stream of another kind: its bytes are the caller's, its upkeep is done here. */
  open(exchange: Exchange, identity: Identity, onClose: () => void): Connection
  /** Ends the streams whose credential no longer stands. */
  checkStanding(): Promise<void>
  count(): number
  drain(): void
  close(): void
}
type StreamsDeps = {
  store: LogStore
  log: Log
  tuning: Tuning
  isStanding: (identity: Identity) => Promise<boolean>
  onDelivered: (events: number) => void
}

export function createStreams({ store, log, tuning, isStanding, onDelivered }: StreamsDeps): Streams {
  const hubs = new Map<string, SessionHub>()
  const all = new Set<Open>()
  let isDraining = false

  function start(exchange: Exchange, identity: Identity): Open {
    if (isDraining) throw new AppError('draining', 'The server is shutting down.')
    const open: Open = {
      connection: takeConnection(exchange),
      identity,
      lacks: () => open.connection.unsent(),
    }
    all.add(open)
    return open
  }

  function hubOf(sessionId: string): SessionHub {
    const found = hubs.get(sessionId)
    if (found) return found
    const hub = createSessionHub(sessionId, {
      store,
      log,
      onDelivered,
      onEmpty: () => hubs.delete(sessionId),
    })
    hubs.set(sessionId, hub)
    return hub
  }

  function tick(): void {
    const at = performance.now()
    for (const { connection, lacks } of all) {
      connection.look(at)
      if (at - connection.lastWriteAt >= tuning.heartbeatMs && connection.unsent() === 0)
        connection.write(KEEP_ALIVE)
      const quietMs = at - connection.lastProgressAt
      if (
        (quietMs >= tuning.stallMs && lacks() > MAX_UNSENT) ||
        (quietMs >= DEAD_MS && connection.unsent() > 0)
      )
        connection.destroy()
    }
  }

  async function checkStanding(): Promise<void> {
    const verdicts = new Map<string, Promise<boolean>>()
    for (const { connection, identity } of all) {
      const who = `${identity.principal.id} ${identity.loginId ?? ''}`
      const verdict = verdicts.get(who) ?? isStanding(identity)
      verdicts.set(who, verdict)
      if (!(await verdict)) connection.end()
    }
  }

  const ticking = setInterval(tick, tuning.tickMs)
  const checking = setInterval(() => {
    checkStanding().catch((error: unknown) =>
      log.warn('could not check the credentials of open streams', { error: String(error) }),
    )
  }, STANDING_MS)
  ticking.unref()
  checking.unref()

  return {
    openSession(exchange, identity, sessionId, after) {
      const open = start(exchange, identity)
      const hub = hubOf(sessionId)
      const reader = hub.join(open.connection, after)
      open.lacks = () => hub.lacks(reader)
      open.connection.onClose = () => {
        all.delete(open)
        hub.leave(reader)
      }
    },
    open(exchange, identity, onClose) {
      const open = start(exchange, identity)
      open.connection.onClose = () => {
        all.delete(open)
        onClose()
      }
      return open.connection
    },
    checkStanding,
    count: () => all.size,
    drain() {
      isDraining = true
      for (const { connection } of all) connection.end(DRAINING)
    },
    close() {
      clearInterval(ticking)
      clearInterval(checking)
      for (const { connection } of all) connection.destroy()
    },
  }
}
