/** The input of the model: the system prompt, the conversation, and the reminders for this one call. */
import { type Conversation, inCallOrder } from '@cairn/state'
import type { ModelMessage } from '@cairn/models'
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
): ModelMessage[] {
  const messages: ModelMessage[] = [
    { role: 'system', content: system },
    ...inCallOrder(entries.map(entry => entry.message)),
  ]
  return reminders.length === 0
    ? messages
    : [...messages, { role: 'user', content: reminders.map(reminder => SAID[reminder]).join('\n') }]
}
