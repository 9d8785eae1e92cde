/**
 * Delivers a session's events to its conversation. The log is the outbox: visible events are sent in log
 * order behind a cursor, one part at a time. The disclosure goes first, and nothing follows before the
 * platform has accepted it.
 */
import type { ChannelDelivery, DueConversation, ChannelStore, DeliveryId } from '@cairn/log'
import { decodeEvent, type EventId, type SessionEvent } from '@cairn/protocol'
import { type TestMessage, promptId } from '@cairn/sessions'
import type { OutgoingPart } from './adapter.ts'
import { isDecision, settleCard } from './decided-card.ts'
import { disclose, inside, undisclosed } from './disclose.ts'
import { fileOf } from './file-out.ts'
import type { AutomaticReply } from './automatic-replies.ts'
import { messageChunks } from './message-chunks.ts'
import type { Progress } from './progress.ts'
import { deliveredTypes, type Piece } from './render.ts'
import { type Delivering, sendPart, type Sent } from './send-part.ts'

const AT_ONCE = 100
/** The delay after which there may be more to send; null if everything is delivered. */
export async function deliverConversation(
  delivering: Delivering,
  due: DueConversation,
  progress: Progress,
): Promise<number | null> {
  const { deps, fence, connection } = delivering
  const conversation = { ...due }
  // The row may predate the last pass over this conversation, which sent a progress message.
  if (connection.adapter.edit !== undefined)
    Object.assign(conversation, await deps.store.channels.conversationOf(due.session_id))
  const { channels } = deps.store
  const { session_id, last_id, running } = conversation
  const blocked = await disclose(delivering, conversation)
  if (blocked !== null) return postpone(blocked)
  // A decision is a message of a person, and changes a card that was sent.
  const types = [...deliveredTypes(connection.adapter.limits), 'user.message'] as const
  let through: EventId = conversation.delivered_through
  let looked = through
  for (;;) {
    const events = await deps.store.events.read(session_id, looked, AT_ONCE, types)
    for (const { id, json } of events) {
      looked = id
      const event = decodeEvent(json)
      if (event.type === 'user.message' && !isDecision(event)) continue
      const later = await deliverEvent(delivering, conversation, event, progress)
      if (later !== null) return postpone(later)
      await channels.advance(session_id, id, fence)
      through = id
    }
    // A short page may end before `last_id`: other reads of the store can be newer (LogStore.read).
    if (events.length === 0) break
  }
  if (running === 1) return progress.show(delivering, conversation, through)
  await endProgress(delivering, conversation, progress)
  progress.forget(session_id)
  // Moves past invisible events once the turn is over, not with every chunk of a running one.
  if (last_id > through) await channels.advance(session_id, last_id, fence)
  return null

  async function postpone(ms: number): Promise<number> {
    await channels.postpone(session_id, ms, fence)
    return ms
  }
}

/** Sends an event with failed deliveries again, although the cursor is past it. */
export async function redeliver(delivering: Delivering, redo: ChannelDelivery): Promise<void> {
  const { deps, fence } = delivering
  const conversation = await deps.store.channels.conversationOf(redo.session_id)
  const [event] = await deps.store.events.read(redo.session_id, redo.event_id - 1, 1)
  if (conversation !== null && event?.id === redo.event_id) {
    // The running turn has nothing to do with it.
    const place = { ...conversation, progress_message_id: null }
    if ((await deliverEvent(delivering, place, decodeEvent(event.json), null)) !== null) return
  }
  await deps.store.channels.endRedo(redo, fence)
}

type DeliveryRef = Pick<
  DueConversation,
  'session_id' | 'key' | 'target' | 'language' | 'disclosed_at' | 'progress_message_id'
>

/** Null if the event is sent or has failed for good; otherwise the delay before the next attempt. */
async function deliverEvent(
  delivering: Delivering,
  conversation: DeliveryRef,
  event: SessionEvent,
  /** Progress of the running turn; null if the event does not belong to it. */
  progress: Progress | null,
): Promise<number | null> {
  if (isDecision(event)) return settleCard(delivering, conversation, event)
  const { deps } = delivering
  const { session_id } = conversation
  for (const [part, { piece, text }] of (await messageChunks(delivering, event)).entries()) {
    const id = { session_id, event_id: event.id, part }
    const prompt = await ask(deps.store.channels, id, piece)
    const file = await fileOf(delivering, session_id, piece)
    const shown: OutgoingPart = {
      type: piece.type,
      conversation_key: conversation.key,
      target: JSON.parse(conversation.target) as OutgoingPart['target'],
      event_id: event.id,
      part,
      text,
      ...(prompt === null ? {} : { prompt }),
      ...(file === null ? {} : { file }),
    }
    const before = inside(delivering, conversation)
    const wasSent = before !== null && (await deps.store.channels.delivery(id))?.state === 'sent'
    if (before !== null && !wasSent) await before.begin()
    if (before !== null) shown.disclosure = before.text
    const replaces = piece.type === 'answer' && part === 0 ? conversation.progress_message_id : null
    const sent: Sent = await sendPart(delivering, id, shown, replaces)
    if ('later_ms' in sent) return sent.later_ms
    if (before !== null && sent.done === 'sent') {
      await before.end(sent.message_id, wasSent)
      conversation.disclosed_at = deps.now()
    }
    // From here on the progress message is replaced by this part, or followed by other messages.
    await endProgress(delivering, conversation, replaces === null ? progress : null)
    // An answer with a gap is useless: its remaining parts are not sent.
    if (sent.done === 'dead') return null
  }
  return null
}

/** No later answer replaces the progress message. */
async function endProgress(
  delivering: Delivering,
  conversation: DeliveryRef,
  progress: Progress | null,
): Promise<void> {
  if (conversation.progress_message_id === null) return
  const { deps, fence } = delivering
  await progress?.settle(delivering, conversation)
  await deps.store.channels.saveProgress(conversation.session_id, null, fence)
  conversation.progress_message_id = null
}

/** The disclosure precedes an automatic reply too, if the conversation has not seen it. */
export async function deliverReply(
  delivering: Delivering,
  { session_id, event_id, part, body }: ChannelDelivery,
): Promise<void> {
  const planned = JSON.parse(body ?? '{}') as AutomaticReply | TestMessage
  const notice = 'to' in planned ? addressed(delivering, planned) : planned
  const { conversation_key, target, text, reply } = notice
  const shown = {
    type: 'notice',
    conversation_key,
    target,
    ...(reply === undefined ? {} : { reply }),
  } as const
  const before = await undisclosed(delivering, notice)
  const isInside = delivering.connection.adapter.disclosesInside === true
  if (before !== null && isInside) {
    await sendPart(delivering, { session_id, event_id, part }, { ...shown, part, text, disclosure: before })
    return
  }
  if (before !== null) {
    const id = { session_id, event_id, part: BEFORE }
    const told = await sendPart(delivering, id, { ...shown, part: BEFORE, text: before })
    if (!('done' in told) || told.done !== 'sent') return
  }
  await sendPart(delivering, { session_id, event_id, part }, { ...shown, part, text })
}
/** For a test message, the administrator names the recipient in the platform's format. */
function addressed({ connection: { adapter } }: Delivering, { to, text }: TestMessage): AutomaticReply {
  const place = adapter.address?.(to) ?? { conversation_key: to, target: {} }
  return { ...place, text }
}

/** The part number of a disclosure before an automatic reply. */
const BEFORE = -1

/** Stores the prompt that the buttons of a message refer to, before they are shown. */
async function ask(
  channels: ChannelStore,
  { session_id, event_id, part }: DeliveryId,
  { ask }: Piece,
): Promise<NonNullable<OutgoingPart['prompt']> | null> {
  if (ask === undefined || ask.choices.length === 0) return null
  const id = promptId(session_id, event_id)
  await channels.putPrompt({
    id,
    session_id,
    kind: ask.kind,
    about: ask.about,
    choices: JSON.stringify(ask.choices),
    event_id,
    part,
    item_id: await channels.itemOf(session_id, event_id),
    shown_hash: ask.shown_hash ?? null,
  })
  return { id, choices: ask.choices.map((label, at) => ({ value: `${id}:${at}`, label })) }
}
