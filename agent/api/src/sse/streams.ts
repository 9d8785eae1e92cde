/** Every open stream of this process: the heartbeat, ending readers that take nothing, draining. */
import type { LogStore } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { StandingWatch } from '../auth/standing.ts'
import type { Logger, Tuning } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Connection } from './connection.ts'
import { DRAINING } from './frames.ts'
import { createOpenStreams, type OpenStream } from './open-streams.ts'
import { createSessionHub, type SessionHub } from './session-hub.ts'
import { createUpkeep } from './upkeep.ts'

export type Streams = {
  /** Streams the log of a session after a cursor, until the client leaves. */
  openSession(exchange: Exchange, identity: Identity, sessionId: string, after: EventId): void
  /** A stream of another kind: its bytes are the caller's, its upkeep is done here. */
  open(exchange: Exchange, identity: Identity, onClose: () => void): Connection
  count(): number
  drain(): void
  close(): void
}
type StreamsDeps = {
  store: LogStore
  log: Logger
  tuning: Tuning
  /** Open streams that one principal may have. */
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
