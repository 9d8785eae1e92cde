/** What a session wrote to the board of its tree and read from it, as items of its chat. */
import type { EventData, EventId, SessionEvent } from '@cairn/protocol'
import { type ChatItem, placeOf } from './chat-item.ts'

type SharedNote = EventData<'board.note'>['notes'][number]
export type BoardItem = { kind: 'board'; event_id: EventId; created_at: string } & (
  | { way: 'shared'; notes: readonly SharedNote[] }
  /** The text that the model read: the whole board (snapshot) or the new notes (delta). */
  | { way: 'read'; update: 'snapshot' | 'delta'; content: string }
)

export function foldBoardItems(items: ChatItem[], event: SessionEvent): void {
  if (event.type === 'board.note')
    items.push({ kind: 'board', ...placeOf(event), way: 'shared', notes: event.data.notes })
  else if (event.type === 'board.update') {
    const { kind: update, content } = event.data
    items.push({ kind: 'board', ...placeOf(event), way: 'read', update, content })
  }
}
