/** The message that an inbound event answers: from the event, or found by its id in our own tables. */
import type { SessionRow } from '@cairn/log'
import { decodeEvent } from '@cairn/protocol'
import type { Inbound } from './adapter.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { lines } from './described.ts'
import type { AnsweredMessage } from './quotation.ts'
import { render } from './render.ts'

/** Null if it answers none, or one that was pruned or is of another session. */
export async function answeredMessage(
  deps: ChannelDeps,
  { id }: Connection,
  { answers, answers_id }: Inbound,
  session: SessionRow,
): Promise<AnsweredMessage | null> {
  if (answers !== undefined || answers_id === undefined) return answers ?? null
  const { channels, events } = deps.store
  const asked = await channels.inboundOf(id, answers_id.event_key)
  if (asked !== null) {
    const { text, source, forwards = [] } = JSON.parse(asked.body) as Inbound
    return {
      author: source.user_name,
      text: lines([text, ...forwards.map(forward => forward.text)]),
    }
  }
  const sent = await channels.deliveryOfMessage(session.id, answers_id.message_id)
  if (sent === null) return null
  const [event] = await events.read(session.id, sent.event_id - 1, 1)
  if (event?.id !== sent.event_id) return null
  const pieces = render(decodeEvent(event.json), { isLinked: session.created_by_kind === 'user' })
  return { author: null, own: true, text: pieces.map(({ text }) => text).join('\n') }
}
