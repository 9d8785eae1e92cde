/** All open streams of this process: heartbeat, disconnecting stalled readers, draining. */
import type { LogStore } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { StandingWatch } from '../auth/standing.ts'
import type { Logger } from '../logger.ts'
import type { Tuning } from '../tuning.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Connection } from './connection.ts'
import { DRAINING } from './frames.ts'
import { createOpenStreams, type OpenStream } from './open-streams.ts'
import type { Sink } from './reader.ts'
import { createSessionHub, type SessionHub } from './session-hub.ts'
import { shareConnection } from './shared-connection.ts'
import { createUpkeep } from './upkeep.ts'

export type Streams = {
  /** Streams the log of a session after a cursor, until the client disconnects. */
  openSession(exchange: Exchange, identity: Identity, sessionId: string, after: EventId): void
  /**
   * Streams several logs over one connection. Returns a function that adds a writer to the connection;
   * `onClose` ends those writers. The logs are read asynchronously, so what the caller writes before its next
   * await precedes every event.
   */
  openSessions(
    exchange: Exchange,
    identity: Identity,
    cursors: readonly SessionCursor[],
    onClose: () => void,
  ): () => Sink
  /** Opens a stream whose content the caller writes; its upkeep is done here. */
  open(exchange: Exchange, identity: Identity, onClose: () => void): Connection
  count(): number
  drain(): void
  close(): void
}
export type SessionCursor = { session_id: string; after: EventId }
type StreamsDeps = {
  store: LogStore
  log: Logger
  tuning: Tuning
  /** Maximum open streams of a principal. */
  perPrincipal: number
  standing: StandingWatch
  onDelivered: (events: number) => void
}

export function createStreams(deps: StreamsDeps): Streams {
  const { store, log, tuning, standing, onDelivered } = deps
  const hubs = new Map<string, SessionHub>()
  const all = createOpenStreams(deps.perPrincipal)
  let isDraining = false

  function start(exchange: Exchange, identity: Identity): { open: OpenStream; forget: () => void } {
    if (isDraining) throw new AppError('draining', 'The server is shutting down.')
    const open = all.add(exchange, identity)
    const unwatch = standing.add(identity, () => open.connection.end())
    return { open, forget: () => (unwatch(), all.remove(open)) }
  }

  function hubOf(sessionId: string): SessionHub {
    const found = hubs.get(sessionId)
    if (found) return found
    const onEmpty = (): void => void hubs.delete(sessionId)
    const hub = createSessionHub(sessionId, { store, log, onDelivered, onEmpty })
    hubs.set(sessionId, hub)
    return hub
  }

  const ticking = setInterval(createUpkeep(all, tuning, log), tuning.tickMs)
  ticking.unref()

  return {
    openSession(exchange, identity, sessionId, after) {
      const { open, forget } = start(exchange, identity)
      const hub = hubOf(sessionId)
      const reader = hub.join(open.connection, after)
      open.lacks = () => hub.lacks(reader)
      open.connection.onClose = () => {
        forget()
        hub.leave(reader)
      }
    },
    openSessions(exchange, identity, cursors, onClose) {
      const { open, forget } = start(exchange, identity)
      const addSink = shareConnection(open.connection)
      const joined = cursors.map(({ session_id, after }) => {
        const hub = hubOf(session_id)
        return { hub, reader: hub.join(addSink(), after) }
      })
      open.lacks = () => joined.reduce((bytes, { reader }) => bytes + reader.lag, open.connection.unsent())
      open.connection.onClose = () => {
        forget()
        for (const { hub, reader } of joined) hub.leave(reader)
        onClose()
      }
      return addSink
    },
    open(exchange, identity, onClose) {
      const { open, forget } = start(exchange, identity)
      open.connection.onClose = () => {
        forget()
        onClose()
      }
      return open.connection
    },
    count: all.count,
    drain() {
      isDraining = true
      for (const { connection } of all) connection.end(DRAINING)
    },
    close() {
      clearInterval(ticking)
      for (const { connection } of all) connection.destroy()
    },
  }
}
