/** Conversations from elsewhere: the start of a fork, and the parts of an import. */
import type { EventId } from '@cairn/protocol'
import type { Conversation, ConversationMessage } from './messages.ts'
import { append, type Owned } from './owned.ts'

/** `synthetic` of the first message of a fork. */
export const FORK = 'fork'
/** `synthetic` of the messages of an import. */
export const IMPORT = 'import'

/** Whether the model reads `history` instead of the message. */
export const startsWithHistory = (synthetic: string | undefined): boolean =>
  synthetic === FORK || synthetic === IMPORT

/** The conversation, followed by the messages of a fork or an import. */
export const beginWith = (
  owned: Owned,
  conversation: Conversation,
  event_id: EventId,
  history: readonly unknown[] = [],
): Conversation => ({
  ...conversation,
  entries: append(
    conversation.entries,
    (history as readonly ConversationMessage[]).map(message => ({ event_id, message })),
    owned,
  ),
})

/**
 * The conversation in a form that another session can continue: without calls that have no result yet, and
 * with images replaced by their names.
 */
export function settledMessages({ entries, open, deferred }: Conversation): ConversationMessage[] {
  const isOpen = (id: string): boolean => open.some(call => call.tool_call_id === id)
  const owner = entries.findIndex(
    ({ message }) => message.role === 'assistant' && message.tool_calls?.some(({ id }) => isOpen(id)),
  )
  return [...(owner === -1 ? entries : entries.slice(0, owner)), ...deferred].map(({ message }) => {
    if (message.role !== 'user' || message.images === undefined) return message
    const { images, ...said } = message
    return { ...said, content: `${said.content}\n\n[Pictures that are not here: ${images.length}]` }
  })
}
