/** Messages that a stop left without an answer: the agent reads them in its next turn. */
import type { ChatItem } from './chat-item.ts'

/** Marks what was said since the last answer began. The list is the caller's own and changed in place. */
export function markUnanswered(items: ChatItem[]): void {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]
    if (item === undefined || item.kind === 'answer') return
    if (item.kind === 'user' && item.synthetic === null) items[index] = { ...item, unanswered: true }
  }
}
