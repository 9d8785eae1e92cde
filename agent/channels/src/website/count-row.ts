/** What a visitor sends becomes a row, which counts for the limits of unknown senders. */
import type { ChannelVisitor, InboundRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import type { ChannelDeps, Connection } from '../deps.ts'
import { accountOf, isFlooding, isIgnored } from '../sender.ts'
import { visitorKey } from './visitor.ts'

/** Also finds the row of an earlier request with this key that died. */
export async function rowFor(
  { store: { channels } }: ChannelDeps,
  connection_id: string,
  visitor: ChannelVisitor,
  { event_key, session_id }: { event_key: string; session_id: string },
): Promise<InboundRow> {
  const conversation_key = visitorKey(visitor)
  const body = JSON.stringify({ session_id })
  await channels.receive({ connection_id, event_key, conversation_key, sender: conversation_key, body })
  const row = await channels.inboundOf(connection_id, event_key)
  if (row === null) throw new Error('[rowFor] the store did not keep the row that it acknowledged')
  return row
}

/** Throws AppError if the visitor is blocked, or had exceeded a limit when the row arrived. */
export async function checkLimits(
  { store, now }: ChannelDeps,
  connection: Connection,
  visitor: ChannelVisitor,
  row: InboundRow,
): Promise<void> {
  const sender = await store.channels.seeSender(connection.id, visitorKey(visitor), visitor.name)
  if (isIgnored(sender, now())) throw new AppError('forbidden', 'This conversation does not accept messages.')
  const speaker = { principal: accountOf(connection), isLinked: false, isProven: true, sender }
  if (await isFlooding(store.channels, speaker, row))
    throw new AppError('rate_limited', 'Too many messages. Try again later.')
}
