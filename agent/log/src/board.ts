/**
 * The board of a tree: short notes that its sessions leave for each other, numbered in the order of their
 * commits. A writer must have read it: `board.add` is refused if somebody else has written since.
 */
export const NOTE_TYPES = ['FACT', 'FAIL', 'CLAIM', 'RESULT'] as const
export type NoteType = (typeof NOTE_TYPES)[number]

export type NewNote = {
  type: NoteType
  content: string
  ref: string | null
  /** So long it counts, from the commit on; null: for good. */
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
/** Every note that is not superseded; who reads it leaves out what has expired. */
export type Board = { last_seq: number; notes: BoardNote[] }

export type BoardChange = {
  /**
   * Guard and change: refused with `tree_moved` unless `last_seq` is the last number of the board; the
   * notes get the numbers after it. A renewal alone takes one as well.
   */
  do: 'board.add'
  root_id: string
  last_seq: number
  writer_id: string
  notes: readonly NewNote[]
  /** Notes that newer ones take the place of. */
  supersede: readonly number[]
  /** Notes that count from now on for so long. */
  renew: readonly { seq: number; ttl_ms: number }[]
}
/**
 * The number of a board after a change. One that only renews takes a number too, which no note has: whoever
 * read the board before would judge by when a claim had run out.
 */
export const seqAfter = ({ last_seq, notes, renew }: BoardChange): number =>
  last_seq + Math.max(notes.length, renew.length > 0 ? 1 : 0)
export const noteId = (seq: number): string => `n${seq}`
