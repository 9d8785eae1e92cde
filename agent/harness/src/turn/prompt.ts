/** The input of the model: the system prompt, the conversation, and the reminders for this one call. */
import { type Conversation, type ConversationMessage, inCallOrder } from '@cairn/state'
import type { ModelMessage } from '@cairn/models'
import type { ResultImages } from './result-images.ts'
import type { Reminder } from './next-step.ts'

const SAID: Record<Reminder, string> = {
  empty: 'Your last answer was empty. Answer the user now, or call a tool.',
  continue:
    'Your answer was cut off by its length limit. Continue exactly where it stopped, without repeating ' +
    'anything.',
  last_call:
    'This is your last step in this turn and no tools are left. Answer now with what you have, and say ' +
    'what is unfinished.',
}

/** Reminders are ephemeral: they follow from the log, so the next runner adds the same ones. */
export function composeMessages(
  system: string,
  { entries }: Conversation,
  reminders: readonly Reminder[],
  images: ResultImages = new Map(),
): ModelMessage[] {
  const messages: ModelMessage[] = [
    { role: 'system', content: system },
    ...withImages(inCallOrder(entries.map(entry => entry.message)), images),
  ]
  return reminders.length === 0
    ? messages
    : [...messages, { role: 'user', content: reminders.map(reminder => SAID[reminder]).join('\n') }]
}

/**
 * The messages with the pictures of tool results in a message of their own, after the results of an answer:
 * few servers accept a picture in a result.
 */
function withImages(messages: readonly ConversationMessage[], images: ResultImages): ConversationMessage[] {
  if (images.size === 0) return [...messages]
  return messages.flatMap((message, at): ConversationMessage[] => {
    if (message.role !== 'tool' || messages[at + 1]?.role === 'tool') return [message]
    const first = messages.findLastIndex(({ role }, index) => index < at && role !== 'tool') + 1
    const found = messages
      .slice(first, at + 1)
      .flatMap(each => (each.role === 'tool' ? (images.get(each.tool_call_id) ?? []) : []))
    if (found.length === 0) return [message]
    const paths = found.map(({ path }) => path).join(', ')
    return [
      message,
      {
        role: 'user',
        content: `[Pictures of the tool results above, in this order: ${paths}]`,
        images: found.map(({ image }) => image),
      },
    ]
  })
}
