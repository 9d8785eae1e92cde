/**
 * How far a session has read the board of its tree, as a fold of its log. What it has read is part of its
 * conversation; after a compaction it reads the whole board again.
 */
import type { SessionEvent } from '@cairn/protocol'

export type BoardCursor = {
  /** Number of the last note read; null: none yet. */
  readonly at: number | null
  readonly anew: boolean
  /** The session has workers to share the board with. */
  readonly shared: boolean
}
export const unread: BoardCursor = { at: null, anew: false, shared: false }

export function foldBoard(cursor: BoardCursor, event: SessionEvent): BoardCursor {
  switch (event.type) {
    case 'board.update':
      return { ...cursor, at: event.data.cursor_to, anew: false }
    case 'context.compact':
      return cursor.at === null || cursor.anew ? cursor : { ...cursor, anew: true }
    case 'worker.spawned':
      return cursor.shared ? cursor : { ...cursor, shared: true }
    default:
      return cursor
  }
}
