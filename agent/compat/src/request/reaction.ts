/** The event by which a person answered an item. */
import { decodeEvent, type EventId, type InboxItem, typesWith } from '@cairn/protocol'
import type { CompatDeps } from '../deps.ts'

/** The event at or after the event that asked; null: no turn followed. */
export async function findReaction(
  { store }: Pick<CompatDeps, 'store'>,
  session_id: string,
  asked: EventId,
  item: Pick<InboxItem, 'id' | 'payload'>,
): Promise<EventId | null> {
  const { tool_call_id } = item.payload
  for (let after: EventId | undefined = asked; after !== undefined;) {
    const page = await store.events.read(session_id, after, 200, typesWith('wakes'))
    for (const { json } of page) {
      const event = decodeEvent(json)
      if (event.type === 'user.message' && event.data.inbox_item_id === item.id) return event.id
      if (event.type === 'ask_user_question.response' && event.data.tool_call_id === tool_call_id)
        return event.id
    }
    after = page.at(-1)?.id
  }
  return null
}
