/**
 * How far a session has read the board of its tree, as a fold of its log. What it has read stands in its
 * conversation; after a compaction it is shown all there is once more.
 */
import type { SessionEvent } from '@cairn/protocol'

export type BoardCursor = {
  /** The number up to which it has read; null: nothing yet. */
  readonly at: number | null
  readonly anew: boolean
  /** There are others to share with: it has made workers. */
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
