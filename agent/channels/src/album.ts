/**
 * Albums: a platform sends the pictures of one message as events of their own. Each is stored as a row of its
 * own, and once no more have arrived for a while they become one message, in one commit.
 */
import type { InboundRow } from '@cairn/log'
import type { Inbound } from './adapter.ts'
import type { ChannelDeps, Connection } from './deps.ts'

/** The events of an album arrive within this time of each other. */
export const ALBUM_MS = 1_500
/** Waiting rows of the conversation that are searched for the rest of an album. */
const WAITING_MAX = 200

export type Gathered = {
  inbound: Inbound
  /** The other rows of the album. */
  others: InboundRow[]
}

/** Null if more of the album may arrive: the row is due again then. */
export async function gatherAlbum(
  { store: { channels }, now }: ChannelDeps,
  { consuming }: Pick<Connection, 'consuming'>,
  row: InboundRow,
  inbound: Inbound,
): Promise<Gathered | null> {
  const { album, edits } = inbound
  // An edit of a caption is a message of its own.
  if (album === undefined || edits !== undefined) return { inbound, others: [] }
  const waiting = await channels.waitingInbound(row.connection_id, row.conversation_key, WAITING_MAX)
  const rest = waiting
    .filter(({ seq, sender }) => seq !== row.seq && sender === row.sender)
    .map(other => ({ row: other, inbound: JSON.parse(other.body) as Inbound }))
    .filter(other => other.inbound.album === album && other.inbound.edits === undefined)
  const received = [row, ...rest.map(other => other.row)].map(({ received_at }) => received_at)
  // The process before this one may have died in the middle: then the platform sends the rest again now.
  const newest = Math.max(consuming.since, ...received)
  const left = newest + ALBUM_MS - now()
  if (left > 0) {
    await channels.deferInbound(row, left)
    return null
  }
  return {
    inbound: merge([inbound, ...rest.map(other => other.inbound)]),
    others: rest.map(other => other.row),
  }
}

/** One message with the texts and files of all. It is for the bot if one of them is. */
function merge(parts: readonly [Inbound, ...Inbound[]]): Inbound {
  const [first] = parts
  const { ignore, ...whole } = parts.find(part => part.ignore === undefined) ?? first
  const answered = parts.find(({ answers }) => answers !== undefined)?.answers
  const text = parts.flatMap(part => (part.text === '' ? [] : [part.text])).join('\n\n')
  const files = parts.flatMap(part => part.files ?? [])
  const forwards = parts.flatMap(part => part.forwards ?? [])
  return {
    ...whole,
    event_key: first.event_key,
    text,
    ...(files.length === 0 ? {} : { files }),
    ...(forwards.length === 0 ? {} : { forwards }),
    ...(answered === undefined ? {} : { answers: answered }),
    ...(ignore === undefined ? {} : { ignore }),
  }
}
