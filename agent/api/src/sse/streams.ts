/**
 * Every open stream of this process: the heartbeat, cutting off who takes nothing, ending those whose
 * credential was revoked, draining.
 */
import type { LogStore } from '@cairn/log'
import { AppError, type EventId } from '@cairn/protocol'
import type { Identity } from '../auth/authenticate.ts'
import type { Logger, Tuning } from '../deps.ts'
import type { Exchange } from '../http/exchange.ts'
import { errorWithHeaders } from '../error-headers.ts'
import { type Connection, takeConnection } from './connection.ts'
import { DRAINING, KEEP_ALIVE } from './frames.ts'
import { readSendQueues } from './send-queues.ts'
import { createSessionHub, MAX_UNSENT, type SessionHub } from './session-hub.ts'

/** A stream that has something unsent and took nothing for so long is dead, however little it is. */
const DEAD_MS = 30_000
const COME_BACK_S = 5
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
  log: Logger
  tuning: Tuning
  /** Open streams that one principal may have. */
  perPrincipal: number
  isStanding: (identity: Identity) => Promise<boolean>
  onDelivered: (events: number) => void
}

export function createStreams(deps: StreamsDeps): Streams {
  const { store, log, tuning, perPrincipal, isStanding, onDelivered } = deps
  const hubs = new Map<string, SessionHub>()
  const all = new Set<Open>()
  /** How many of them each principal has. */
  const counts = new Map<string, number>()
  let isDraining = false

  function start(exchange: Exchange, identity: Identity): Open {
    if (isDraining) throw new AppError('draining', 'The server is shutting down.')
    const { id } = identity.principal
    const count = counts.get(id) ?? 0
    if (count >= perPrincipal)
      throw errorWithHeaders(
        'too_many_streams',
        `You have ${count} streams open, and may have ${perPrincipal} (limits.streams_per_principal): ` +
          'close one first.',
        { 'retry-after': String(COME_BACK_S) },
      )
    const open: Open = {
      connection: takeConnection(exchange),
      identity,
      lacks: () => open.connection.unsent(),
    }
    all.add(open)
    counts.set(id, count + 1)
    return open
  }

  function remove(open: Open): void {
    if (!all.delete(open)) return
    const { id } = open.identity.principal
    const left = (counts.get(id) ?? 1) - 1
    if (left > 0) counts.set(id, left)
    else counts.delete(id)
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

  /** So long this one may take nothing. */
  const patienceOf = ({ connection, lacks }: Open): number =>
    lacks() > MAX_UNSENT ? tuning.stallMs : connection.unsent() > 0 ? DEAD_MS : Infinity

  function tick(): void {
    const at = performance.now()
    const quiet: Open[] = []
    for (const open of all) {
      const { connection } = open
      connection.look(at)
      if (at - connection.lastWriteAt >= tuning.heartbeatMs && connection.unsent() === 0)
        connection.write(KEEP_ALIVE)
      // From half of the time on, so that there are two looks to compare.
      if (at - connection.lastProgressAt >= patienceOf(open) / 2) quiet.push(open)
    }
    if (quiet.length > 0)
      cutStalled(quiet).catch((error: unknown) =>
        log.warn('could not look after readers that take nothing', { error: String(error) }),
      )
  }

  /** The socket has taken nothing; whoever has acknowledged nothing either is gone, or as good as that. */
  async function cutStalled(quiet: readonly Open[]): Promise<void> {
    const queues = await readSendQueues()
    const at = performance.now()
    for (const open of quiet) {
      const { connection } = open
      const quietMs = Math.min(connection.lookAtPeer(queues, at), at - connection.lastProgressAt)
      if (quietMs >= patienceOf(open)) connection.destroy()
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
        remove(open)
        hub.leave(reader)
      }
    },
    open(exchange, identity, onClose) {
      const open = start(exchange, identity)
      open.connection.onClose = () => {
        remove(open)
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
