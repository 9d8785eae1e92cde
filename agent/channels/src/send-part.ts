/**
 * Sends one part. Its row is written before the call and settled after it, so a row found `sending` belongs
 * to a process that died, and its outcome is unknown.
 */
import type { ChannelDelivery, ChannelFence, ConnectionState, DeliveryId, DeliverySettled } from '@cairn/log'
import { deliveryKey } from '@cairn/sessions'
import { type Adapter, type Failure, type OutgoingPart, SendFailed } from './adapter.ts'
import { backoffMs } from './backoff.ts'
import type { ChannelDeps, Connection } from './deps.ts'

/** A part is retried for this long. */
const GIVE_UP_MS = 24 * 60 * 60_000
/** A part waits this long for the person to write again. */
const HELD_MS = 7 * 24 * 60 * 60_000

/** The context of a delivery, by the current holder of the lease. */
export type Delivering = {
  deps: ChannelDeps
  connection: Connection
  fence: ChannelFence
  signal: AbortSignal
}
export type Sent = { done: 'sent'; message_id: string | null } | { done: 'dead' } | { later_ms: number }

/** Another process holds the lease and continues from the stored state. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

type Settle = (settled: DeliverySettled) => Promise<void>

/** `replaces`: one of our messages that the part replaces, on a platform with edits. */
export async function sendPart(
  delivering: Delivering,
  id: DeliveryId,
  part: OutgoingPart,
  replaces: string | null = null,
): Promise<Sent> {
  const { deps, connection, fence, signal } = delivering
  const { store, now } = deps
  const before = await store.channels.delivery(id)
  if (before?.state === 'sent') return { done: 'sent', message_id: before.platform_message_id }
  if (before?.state === 'dead' || before?.state === 'dropped') return { done: 'dead' }
  const until = Math.max(before?.next_at ?? 0, connection.pause.until)
  if (until > now()) return { later_ms: until - now() }
  await deps.wait(connection.limiter.reserve(part.conversation_key, part.target, now()), signal)
  if (signal.aborted) throw new LeaseLost()

  const settle: Settle = async settled => {
    if (!(await store.channels.settleDelivery(id, settled, fence))) throw new LeaseLost()
  }
  const key = deliveryKey(id)
  if (!(await store.channels.beginDelivery({ ...id, key }, fence))) throw new LeaseLost()
  const place = before?.platform_message_id ?? replaces
  if (place !== null && place !== before?.platform_message_id)
    await settle({ state: 'sending', platform_message_id: place })
  const dead = before === null ? null : await giveUp(delivering, id, before, settle)
  if (dead !== null) return dead
  try {
    const wasTried = before !== null && wasLost(before)
    const message_id = await call(connection.adapter, part, key, { place, wasTried, signal })
    await settle({ state: 'sent', platform_message_id: message_id })
    await recover(deps, connection)
    return { done: 'sent', message_id }
  } catch (error) {
    if (!(error instanceof SendFailed)) throw error
    return settleFailure(deps, connection, settle, error, before)
  }
}

/**
 * Fails a part that was retried for too long, or that may already have been delivered on a platform that
 * cannot tell; null to send it.
 */
async function giveUp(
  { deps, connection: { adapter, settings } }: Delivering,
  { event_id }: DeliveryId,
  before: ChannelDelivery,
  settle: Settle,
): Promise<Sent | null> {
  const dead = async (error: string): Promise<Sent> => {
    await settle({ state: 'dead', error })
    return { done: 'dead' }
  }
  const most = before.state === 'held' ? HELD_MS : GIVE_UP_MS
  if (deps.now() - before.first_at > most)
    return dead(before.error ?? `abandoned after ${most / 3_600_000} hours`)
  // An existing message is edited, which is idempotent. The disclosure is always sent again.
  const isDoubtful =
    wasLost(before) && adapter.delivery === 'unkeyed' && before.platform_message_id === null && event_id !== 0
  if (!isDoubtful) return null
  if (settings.on_unknown === 'hold' || before.possible_duplicate === 1)
    return dead('it is unknown whether the platform received it')
  await settle({ state: 'sending', possible_duplicate: 1 })
  return null
}

type Calling = { place: string | null; wasTried: boolean; signal: AbortSignal }

async function call(
  adapter: Adapter,
  part: OutgoingPart,
  key: string,
  { place, wasTried, signal }: Calling,
): Promise<string | null> {
  if (wasTried && place === null && adapter.delivery === 'reconciled') {
    const found = (await adapter.find?.(part, key, signal)) ?? null
    if (found !== null) return found
  }
  try {
    if (place !== null && adapter.edit !== undefined) {
      const isThere = await adapter.edit(place, part, signal).then(() => true, unlessGone)
      if (isThere || part.only_edits === true) return place
    }
    return (await adapter.send(part, key, signal)).message_id
  } catch (error) {
    if (!(error instanceof SendFailed) || error.failure !== 'bad_format' || part.plain === true) throw error
    return call(adapter, { ...part, plain: true }, key, { place, wasTried: false, signal })
  }
}

/** The message to edit was deleted: the part is sent as a new message. */
function unlessGone(thrown: unknown): false {
  if (thrown instanceof SendFailed && thrown.failure === 'permanent') return false
  throw thrown
}

async function recover({ store }: ChannelDeps, { id, health }: Connection): Promise<void> {
  if (health.state !== 'degraded' && health.state !== 'broken') return
  health.state = 'live'
  await store.channels.recoverConnection(id)
}

const wasLost = ({ state }: ChannelDelivery): boolean => state === 'sending' || state === 'unknown'

const STATE: Record<Failure, 'waiting' | 'unknown' | 'held' | 'dead'> = {
  transient: 'waiting',
  rate_limited: 'waiting',
  unauthorized: 'waiting',
  unknown: 'unknown',
  no_window: 'held',
  bad_format: 'dead',
  permanent: 'dead',
  gone: 'dead',
}

/** The connection state that a failure implies; the next successful part makes it live again. */
const HEALTH: { [F in Failure]?: ConnectionState } = {
  unauthorized: 'broken',
  gone: 'disabled',
  bad_format: 'degraded',
  permanent: 'degraded',
}

async function settleFailure(
  { store, random, report, now }: ChannelDeps,
  connection: Connection,
  settle: Settle,
  { failure, afterMs, scope, message }: SendFailed,
  before: ChannelDelivery | null,
): Promise<Sent> {
  const { id, name, pause } = connection
  report('warn', 'message part not delivered', { connection: name, failure, error: message })
  const state = STATE[failure]
  const retry_ms = state === 'held' ? HELD_MS : (afterMs ?? backoffMs(before?.attempts ?? 0, random()))
  if (failure === 'rate_limited' && scope === 'connection') pause.until = now() + retry_ms
  await settle({ state, error: message, ...(state === 'dead' ? {} : { retry_ms }) })
  const health = HEALTH[failure]
  if (health !== undefined) {
    connection.health.state = health
    await store.channels.setConnection(id, health, message)
  }
  return state === 'dead' ? { done: 'dead' } : { later_ms: retry_ms }
}
