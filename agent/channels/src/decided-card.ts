/**
 * Shows on an approval card who decided, wherever that happened: here, in the web UI, or in another program.
 * The decision is taken from the message that informs the model, and nothing of that message is shown.
 */
import type { ChannelDelivery, LogStore } from '@cairn/log'
import { decodeEvent, type EventId, type EventOf, type SessionEvent, visibleText } from '@cairn/protocol'
import { nameDecider } from '@cairn/sessions'
import type { OutgoingPart } from './adapter.ts'
import { splitMessage } from './split-message.ts'
import { messageChunks } from './message-chunks.ts'
import { type Delivering, sendPart } from './send-part.ts'

type Decision = EventOf<'user.message'> & { data: { inbox_item_id: string } }

/** True if the event is a decision on an approval. */
export const isDecision = (event: SessionEvent): event is SessionEvent & Decision =>
  event.type === 'user.message' &&
  event.data.synthetic === 'governance_decision' &&
  event.data.inbox_item_id !== undefined

const DID: Readonly<Record<string, string>> = { approve: 'Approved', reject: 'Rejected' }

/** For example "Approved by Ann."; null if undecided. */
export async function verdictOf(store: LogStore, orgId: string, itemId: string): Promise<string | null> {
  const item = await store.inbox.get(itemId)
  if (item === null) return null
  const { decision, decided_by_name: name } = await nameDecider({ store }, orgId, item)
  const did = DID[decision ?? '']
  if (did === undefined) return null
  return name === undefined ? `${did}.` : `${did} by ${visibleText(name)}.`
}

type CardRef = { session_id: string; key: string; target: string }

/** Null if the card is updated or there is none; otherwise the delay before the next attempt. */
export async function settleCard(
  delivering: Delivering,
  { session_id, key: conversation_key, target }: CardRef,
  { id: event_id, data: { inbox_item_id } }: { id: EventId; data: { inbox_item_id: string } },
): Promise<number | null> {
  const { deps, connection } = delivering
  if (connection.adapter.edit === undefined) return null
  const card = await cardOf(delivering, inbox_item_id)
  const verdict = await verdictOf(deps.store, connection.org_id, inbox_item_id)
  const place = card?.delivery.platform_message_id ?? null
  if (card === null || verdict === null || place === null) return null
  const most = connection.adapter.limits.text - verdict.length - 2
  const shown: OutgoingPart = {
    type: 'approval',
    conversation_key,
    target: JSON.parse(target) as OutgoingPart['target'],
    event_id,
    part: 0,
    text: `${splitMessage(card.text, most)[0] ?? ''}\n\n${verdict}`,
    only_edits: true,
  }
  const sent = await sendPart(delivering, { session_id, event_id, part: 0 }, shown, place)
  return 'later_ms' in sent ? sent.later_ms : null
}

/** The part that showed the buttons; null if there was none. */
async function cardOf(
  delivering: Delivering,
  itemId: string,
): Promise<{ delivery: ChannelDelivery; text: string } | null> {
  const { store } = delivering.deps
  const prompt = await store.channels.promptOfItem(itemId)
  if (prompt === null || prompt.event_id === null || prompt.part === null) return null
  const { session_id, event_id, part } = prompt
  const delivery = await store.channels.delivery({ session_id, event_id, part })
  const [gate] = await store.events.read(session_id, event_id - 1, 1)
  if (delivery === null || gate?.id !== event_id) return null
  const shown = (await messageChunks(delivering, decodeEvent(gate.json)))[part]
  return shown === undefined ? null : { delivery, text: shown.text }
}
