/**
 * What brings events without being called: a long poll, a socket, a gateway. It runs in the process that
 * holds `consume`, and ends when the lease does.
 */
import { asError } from '@cairn/protocol'
import { ConsumeFailed, type Inbound } from './adapter.ts'
import { backoffMs } from './backoff.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { receive } from './receive.ts'
import { wait } from './wait.ts'

/** A platform that is away, or taken by somebody else, is asked again so rarely at most. */
const MOST_MS = 60_000
/** So often the credentials are refused before nobody tries again. */
const MOST_REFUSED = 3
/** As long as a timer can. */
const FOREVER_MS = 2 ** 31 - 1

export type Consumer = {
  /** The lease holds for so long from now: runs unless it runs already. */
  go(ttlMs: number): void
  /** The lease is another's. */
  lapse(): void
  ended(): Promise<void>
}

export function createConsumer(
  deps: ChannelDeps,
  connection: Connection,
  /** Events are on disk. */
  onReceived: () => void,
): Consumer {
  const { adapter } = connection
  let stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let isRunning = false
  let deadline: NodeJS.Timeout | undefined
  /** A process that slept past its lease consumes no more, whoever has it now. */
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
          deps.report('error', 'a channel could not go on', {
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
      // What only registers something is done, for as long as the lease holds.
      return await wait(FOREVER_MS, signal)
    } catch (thrown) {
      if (signal.aborted) return
      failures += 1
      const failure = thrown instanceof ConsumeFailed ? thrown.failure : 'lost'
      if (failure === 'unauthorized') refused += 1
      const { message } = asError(thrown)
      deps.report('warn', 'a channel does not receive', { connection: connection.name, error: message })
      const state =
        failure === 'conflict' ? 'conflict' : refused >= MOST_REFUSED ? 'broken' : ('connecting' as const)
      connection.health.state = state
      await channels.setConnection(id, state, message)
      if (state === 'broken') {
        await channels.refuseConnection(id, connection.fingerprint)
        return await wait(FOREVER_MS, signal)
      }
      await wait(Math.min(MOST_MS, backoffMs(failures, deps.random())), signal)
    }
  }
}

/** A spinner that stays is no loss: what was pressed is on disk. */
export function acknowledge(
  { report }: ChannelDeps,
  { name, adapter }: Connection,
  events: readonly Inbound[],
  signal: AbortSignal,
): void {
  if (adapter.acknowledge === undefined) return
  for (const inbound of events)
    adapter.acknowledge(inbound, signal).catch((error: unknown) =>
      report('warn', 'a platform was not told that an event was taken', {
        connection: name,
        error: String(error),
      }),
    )
}
