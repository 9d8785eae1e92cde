/** The items of a chat by kind. */
import type { ChatItem } from '@cairn/state'

export type ItemOf<K extends ChatItem['kind']> = Extract<ChatItem, { kind: K }>

/** Stable while an answer streams (it has no event yet) and after. */
export function itemKey(item: ChatItem, position: number): string {
  if (item.kind === 'answer') return `answer-${item.turn_id}-${item.iteration}-${position}`
  return item.kind === 'tool' || item.kind === 'question' || item.kind === 'approval'
    ? `${item.kind}-${item.tool_call_id}`
    : `${item.kind}-${item.event_id}`
}

/** A question has a card of its own, which says the same and more; a call that failed has none. */
export const isAsked = ({ name, status }: ItemOf<'tool'>): boolean =>
  name === 'ask_user_question' && status !== 'failed' && status !== 'refused'
