/** Types and keys of chat items. */
import type { ChatItem } from '@cairn/state'

export type ItemOf<K extends ChatItem['kind']> = Extract<ChatItem, { kind: K }>

/** Stays the same when a streamed answer, which has no event yet, is committed. */
export function itemKey(item: ChatItem, position: number): string {
  if (item.kind === 'answer') return `answer-${item.turn_id}-${item.iteration}-${position}`
  return item.kind === 'tool' || item.kind === 'question' || item.kind === 'approval'
    ? `${item.kind}-${item.tool_call_id}`
    : `${item.kind}-${item.event_id}`
}

/** A question has its own card, which repeats the call and adds to it; a failed or refused call has none. */
export const isAsked = ({ name, status }: ItemOf<'tool'>): boolean =>
  name === 'ask_user_question' && status !== 'failed' && status !== 'refused'
