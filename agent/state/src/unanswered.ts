/** Messages that a stop left unanswered; the agent reads them in its next turn. */
import type { ChatItem } from './chat-item.ts'

/** Marks the messages since the last answer started. The caller owns the list; it is changed in place. */
export function markUnanswered(items: ChatItem[]): void {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]
    if (item === undefined || item.kind === 'answer') return
    if (item.kind === 'user' && item.synthetic === null) items[index] = { ...item, unanswered: true }
  }
}
