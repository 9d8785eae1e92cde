/**
 * Every open stream of this process: the heartbeat, cutting off who takes nothing, ending those whose
 * credential was revoked, draining.
 */
import type { LogStore } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { Logger, Tuning } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Connection } from './connection.ts'
import { DRAINING } from './frames.ts'
import { createOpenStreams, type OpenStream } from './open-streams.ts'
import { createSessionHub, type SessionHub } from './session-hub.ts'
import { createUpkeep } from './upkeep.ts'

/** How often the credentials behind open streams are looked at, for revocations by other processes. */
const STANDING_MS = 15_000

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
  log: Logger
  tuning: Tuning
  /** Open streams that one principal may have. */
  perPrincipal: number
  isStanding: (identity: Identity) => Promise<boolean>
  onDelivered: (events: number) => void
}

export function createStreams(deps: StreamsDeps): Streams {
  const { store, log, tuning, isStanding, onDelivered } = deps
  const hubs = new Map<string, SessionHub>()
  const all = createOpenStreams(deps.perPrincipal)
  let isDraining = false

  function start(exchange: Exchange, identity: Identity): OpenStream {
    if (isDraining) throw new AppError('draining', 'The server is shutting down.')
    return all.add(exchange, identity)
  }

  function hubOf(sessionId: string): SessionHub {
    const found = hubs.get(sessionId)
    if (found) return found
    const onEmpty = (): void => void hubs.delete(sessionId)
    const hub = createSessionHub(sessionId, { store, log, onDelivered, onEmpty })
    hubs.set(sessionId, hub)
    return hub
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

  const ticking = setInterval(createUpkeep(all, tuning, log), tuning.tickMs)
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
        all.remove(open)
        hub.leave(reader)
      }
    },
    open(exchange, identity, onClose) {
      const open = start(exchange, identity)
      open.connection.onClose = () => {
        all.remove(open)
        onClose()
      }
      return open.connection
    },
    checkStanding,
    count: all.count,
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
