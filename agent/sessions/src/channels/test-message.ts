/** A message with which an administrator tests a connection, sent by the channel itself. */
import { type ChannelConnection, repliesOf } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { deliveryKey } from './delivery-key.ts'
import type { Deps } from '../deps.ts'

/** Has no inbound event: the adapter resolves `to`. */
export type TestMessage = { to: string; text: string }

/** Returns the key of its delivery. */
export async function planTestMessage(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  { id, name, platform, state }: ChannelConnection,
  to: string,
): Promise<string> {
  if (state === 'disabled')
    throw new AppError('wrong_state', `The channel ${name} is disabled: enable it first.`)
  if (platform === 'website')
    throw new AppError(
      'wrong_target',
      'You cannot send a test message to a website channel: open its page instead.',
    )
  // Distinct from replies to inbound events, whose numbers are small.
  const where = { session_id: repliesOf(id), event_id: now(), part: 0 }
  const key = deliveryKey(where)
  const notice: TestMessage = { to, text: `This is a test message of the channel ${name}.` }
  await store.channels.planReply({ ...where, connection_id: id, key, body: JSON.stringify(notice) })
  return key
}
