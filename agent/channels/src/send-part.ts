/**
 * One part goes out: its row is on disk before the call and settled after it. A row that is found `sending`
 * is of a process that died, so its outcome is not known.
 */
import type { ChannelDelivery, ChannelFence, ConnectionState, DeliveryId, DeliverySettled } from '@cairn/log'
import { type Failure, type Part, SendFailed } from './adapter.ts'
import { backoffMs } from './backoff.ts'
import { deliveryKey } from './delivery-key.ts'
import type { ChannelDeps, Connection } from './deps.ts'

/** So long a part is tried. */
const GIVE_UP_MS = 24 * 60 * 60_000

export type Sent = { done: 'sent'; message_id: string | null } | { done: 'dead' } | { later_ms: number }

/** The lease is another's by now: whoever holds it goes on from what is written. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

export async function sendPart(
  deps: ChannelDeps,
  connection: Connection,
  fence: ChannelFence,
  id: DeliveryId,
  part: Part,
  signal: AbortSignal,
): Promise<Sent> {
  const { store, now } = deps
  const { adapter, settings } = connection
  const before = await store.channels.delivery(id)
  if (before?.state === 'sent') return { done: 'sent', message_id: before.platform_message_id }
  if (before?.state === 'dead') return { done: 'dead' }
  if (before !== null && before.next_at > now()) return { later_ms: before.next_at - now() }

  if (connection.pause.until > now()) return { later_ms: connection.pause.until - now() }

  const settle = async (settled: DeliverySettled): Promise<void> => {
    if (!(await store.channels.settleDelivery(id, settled, fence))) throw new LeaseLost()
  }
  const key = deliveryKey(id)
  if (!(await store.channels.beginDelivery({ ...id, key }, fence))) throw new LeaseLost()
  if (before !== null && now() - before.first_at > GIVE_UP_MS) {
    await settle({ state: 'dead', error: before.error ?? 'given up after 24 hours' })
    return { done: 'dead' }
  }
  // The disclosure is sent again in any case: twice is better than never.
  const isDoubtful = before !== null && wasLost(before) && adapter.delivery === 'unkeyed'
  if (isDoubtful && id.event_id !== 0) {
    if (settings.on_unknown === 'hold' || before.possible_duplicate === 1) {
      await settle({ state: 'dead', error: 'it is not known whether the platform took it' })
      return { done: 'dead' }
    }
    await settle({ state: 'sending', possible_duplicate: 1 })
  }
  try {
    const { message_id } = await adapter.send(part, key, signal)
    await settle({ state: 'sent', platform_message_id: message_id })
    await recover(deps, connection)
    return { done: 'sent', message_id }
  } catch (thrown) {
    if (!(thrown instanceof SendFailed)) throw thrown
    return settleFailure(deps, connection, settle, thrown, before?.attempts ?? 0)
  }
}

async function recover({ store }: ChannelDeps, { id, health }: Connection): Promise<void> {
  if (health.state !== 'degraded' && health.state !== 'broken') return
  health.state = 'live'
  await store.channels.recoverConnection(id)
}

const wasLost = ({ state }: ChannelDelivery): boolean => state === 'sending' || state === 'unknown'

const STATE: Record<Failure, 'waiting' | 'unknown' | 'dead'> = {
  transient: 'waiting',
  rate_limited: 'waiting',
  unauthorized: 'waiting',
  unknown: 'unknown',
  permanent: 'dead',
  gone: 'dead',
}

/** What a failure says of the connection; the next part that is taken makes it live again. */
const HEALTH: { [F in Failure]?: ConnectionState } = {
  unauthorized: 'broken',
  gone: 'disabled',
  permanent: 'degraded',
}

async function settleFailure(
  { store, random, report, now }: ChannelDeps,
  connection: Connection,
  settle: (settled: DeliverySettled) => Promise<void>,
  { failure, afterMs, message }: SendFailed,
  attempts: number,
): Promise<Sent> {
  const { id, name, pause } = connection
  report('warn', 'a part was not delivered', { connection: name, failure, error: message })
  const state = STATE[failure]
  const retry_ms = afterMs ?? backoffMs(attempts, random())
  if (failure === 'rate_limited') pause.until = now() + retry_ms
  await settle({ state, error: message, ...(state === 'dead' ? {} : { retry_ms }) })
  const health = HEALTH[failure]
  if (health !== undefined) {
    connection.health.state = health
    await store.channels.setConnection(id, health, message)
  }
  return state === 'dead' ? { done: 'dead' } : { later_ms: retry_ms }
}
