/**
 * Receives events from platforms without webhooks: a long poll, a socket, a gateway. Runs in the process that
 * holds the `consume` lease, and ends with the lease.
 */
import { asError } from '@cairn/protocol'
import { ConsumeFailed, type Inbound } from './adapter.ts'
import { backoffMs } from './backoff.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { receive } from './receive.ts'
import { wait } from './wait.ts'

/** Maximum delay between attempts if the platform is down, or another consumer is connected. */
const MAX_MS = 60_000
/** Consecutive rejections of the credentials after which no more attempts are made. */
const MAX_REFUSED = 3
/** The maximum delay of a timer. */
const FOREVER_MS = 2 ** 31 - 1

export type Consumer = {
  /** The lease is valid for this long: starts consuming unless it is already running. */
  go(ttlMs: number): void
  /** The lease was lost. */
  lapse(): void
  ended(): Promise<void>
}

export function createConsumer(
  deps: ChannelDeps,
  connection: Connection,
  /** Called when events have been stored. */
  onReceived: () => void,
): Consumer {
  const { adapter } = connection
  let stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let isRunning = false
  let deadline: NodeJS.Timeout | undefined
  /** A process that was suspended past its lease must stop, whether or not another holds it. */
  const lapse = (): void => {
    clearTimeout(deadline)
    stopping.abort()
  }
  return {
    go(ttlMs) {
      if (adapter.consume === undefined) return
      clearTimeout(deadline)
      deadline = setTimeout(lapse, ttlMs)
      deadline.unref()
      if (isRunning) return
      stopping = new AbortController()
      isRunning = true
      running = consumeOn(deps, connection, onReceived, stopping.signal)
        .catch((error: unknown) =>
          deps.report('error', 'channel consumer failed', {
            connection: connection.name,
            error: String(error),
          }),
        )
        .finally(() => {
          isRunning = false
        })
    },
    lapse,
    ended: () => running,
  }
}

async function consumeOn(
  deps: ChannelDeps,
  connection: Connection,
  onReceived: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { channels } = deps.store
  const { id, adapter } = connection
  let failures = 0
  let refused = 0
  connection.consuming.since = deps.now()
  while (!signal.aborted) {
    try {
      await adapter.consume?.({
        cursor: (await channels.getConnection(id))?.poll_cursor ?? null,
        signal,
        async sink(events, cursor) {
          await receive(channels, connection, events)
          if (cursor !== undefined) await channels.saveCursor(id, cursor)
          acknowledge(deps, connection, events, signal)
          if (events.length > 0) onReceived()
        },
        async live() {
          failures = 0
          refused = 0
          connection.health.state = 'live'
          await channels.setConnection(id, 'live', null)
        },
      })
      // A `consume` that only registers has returned; wait until the lease ends.
      return await wait(FOREVER_MS, signal)
    } catch (error) {
      if (signal.aborted) return
      failures += 1
      const failure = error instanceof ConsumeFailed ? error.failure : 'lost'
      if (failure === 'unauthorized') refused += 1
      const { message } = asError(error)
      deps.report('warn', 'channel is not receiving', { connection: connection.name, error: message })
      const state =
        failure === 'conflict' ? 'conflict' : refused >= MAX_REFUSED ? 'broken' : ('connecting' as const)
      connection.health.state = state
      await channels.setConnection(id, state, message)
      if (state === 'broken') {
        await channels.refuseConnection(id, connection.fingerprint)
        return await wait(FOREVER_MS, signal)
      }
      await wait(Math.min(MAX_MS, backoffMs(failures, deps.random())), signal)
    }
  }
}

/** Failures are ignored: a spinner that stays does no harm, the action is stored. */
export function acknowledge(
  { report }: ChannelDeps,
  { name, adapter }: Connection,
  events: readonly Inbound[],
  signal: AbortSignal,
): void {
  if (adapter.acknowledge === undefined) return
  for (const inbound of events)
    adapter.acknowledge(inbound, signal).catch((error: unknown) =>
      report('warn', 'could not acknowledge an event to the platform', {
        connection: name,
        error: String(error),
      }),
    )
}
