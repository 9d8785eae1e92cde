/**
 * The board of a session tree: short notes that its sessions share, numbered in commit order. A writer must
 * have read the board: `board.add` is rejected if another session has written since.
 */
import { redactJson } from '../../engine/redact-json.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'

export const NOTE_TYPES = ['FACT', 'FAIL', 'CLAIM', 'RESULT'] as const
export type NoteType = (typeof NOTE_TYPES)[number]

export type NewNote = {
  type: NoteType
  content: string
  ref: string | null
  /** Valid for this long after the commit; null: without limit. */
  ttl_ms: number | null
}
export type BoardNote = Omit<NewNote, 'ttl_ms'> & {
  root_id: string
  seq: number
  writer_id: string
  status: 'active' | 'superseded'
  /** Epoch milliseconds. */
  created_at: number
  expires_at: number | null
}
/** All notes that are not superseded; readers filter out expired ones. */
export type Board = { last_seq: number; notes: BoardNote[] }

export interface BoardReads {
  /** The board of a tree, ordered by number. */
  read(rootId: string): Promise<Board>
  /** Counts a writer's notes since `since` (epoch ms), superseded ones included. */
  countSince(rootId: string, writerId: string, since: number): Promise<number>
}

export type BoardChange = {
  /**
   * Guard and change: rejected with `tree_moved` unless `last_seq` is the last number of the board; the notes
   * get the following numbers. A renewal without notes takes a number too.
   */
  do: 'board.add'
  root_id: string
  last_seq: number
  writer_id: string
  notes: readonly NewNote[]
  /** Numbers of the notes that the new ones replace. */
  supersede: readonly number[]
  /** Notes whose validity starts again from now. */
  renew: readonly { seq: number; ttl_ms: number }[]
}
/**
 * The board's last number after a change. A change that only renews takes a number without a note, because a
 * writer that read the board before would rely on an outdated expiry.
 */
export const seqAfter = ({ last_seq, notes, renew }: BoardChange): number =>
  last_seq + Math.max(notes.length, renew.length > 0 ? 1 : 0)
export const noteId = (seq: number): string => `n${seq}`

export const toNote = ({ org_key: _, ...note }: Keyed<BoardNote>): BoardNote => note

export const boardChanges: Resource<BoardChange, BoardReads>['changes'] = {
  'board.add': {
    trees: ({ root_id }) => [root_id],
    redact: (change, redact) => ({ ...change, notes: redactJson(redact, change.notes) }),
  },
}
