/** Stores a platform's event; only then is it acknowledged to the platform. */
import type { ChannelStore } from '@cairn/log'
import type { Inbound } from './adapter.ts'
import type { Connection } from './deps.ts'

/** Postgres and JSON accept no lone surrogate or U+0000 in text. */
const encode = (inbound: Inbound): string =>
  JSON.stringify(inbound, (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value,
  )

export async function receive(
  channels: ChannelStore,
  { id }: Pick<Connection, 'id'>,
  events: readonly Inbound[],
): Promise<void> {
  for (const inbound of events)
    await channels.receive({
      connection_id: id,
      event_key: inbound.event_key,
      conversation_key: inbound.conversation_key,
      sender: inbound.source.user_id,
      body: encode(inbound),
    })
}
