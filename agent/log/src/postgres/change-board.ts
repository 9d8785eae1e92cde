/** Changes to a board within a commit on Postgres, under the lock of its tree. */
import { type BoardChange, seqAfter } from '../board.ts'
import { linkRefusals } from '../change-link.ts'
import type { StoredSession } from '../session-rows.ts'
import type { Statement } from './connections.ts'
import type { Ask } from './row-changes.ts'

const statement = (name: string, text: string): Statement => ({ name, text })

/** Locks the tree, even if it had no row. */
const BOARD_SEQ = statement(
  'board_seq',
  'INSERT INTO trees (root_id, version) VALUES ($1, 0) ON CONFLICT (root_id) DO UPDATE SET board_seq = ' +
    'trees.board_seq RETURNING board_seq',
)
const ADD_NOTE = statement(
  'add_note',
  'INSERT INTO board_notes (root_id, seq, writer_id, type, content, ref, status, created_at, expires_at) ' +
    "VALUES ($1, $2, $3, $4, $5, $6, 'active', $7, $8)",
)
const SUPERSEDE_NOTE = statement(
  'supersede_note',
  "UPDATE board_notes SET status = 'superseded' WHERE root_id = $1 AND seq = $2",
)
const RENEW_NOTE = statement(
  'renew_note',
  'UPDATE board_notes SET expires_at = $1 WHERE root_id = $2 AND seq = $3',
)
const SET_BOARD_SEQ = statement('set_board_seq', 'UPDATE trees SET board_seq = $2 WHERE root_id = $1')

export async function changeBoard(
  ask: Ask,
  row: StoredSession,
  at: number,
  change: BoardChange,
): Promise<void> {
  const { root_id, last_seq, writer_id, notes, supersede, renew } = change
  const [tree] = await ask(BOARD_SEQ, [root_id])
  if (Number(tree?.['board_seq']) !== last_seq) throw linkRefusals.moved(row, root_id)
  for (const [index, { type, content, ref, ttl_ms }] of notes.entries()) {
    const expires_at = ttl_ms === null ? null : at + ttl_ms
    await ask(ADD_NOTE, [root_id, last_seq + 1 + index, writer_id, type, content, ref, at, expires_at])
  }
  for (const seq of supersede) await ask(SUPERSEDE_NOTE, [root_id, seq])
  for (const { seq, ttl_ms } of renew) await ask(RENEW_NOTE, [at + ttl_ms, root_id, seq])
  await ask(SET_BOARD_SEQ, [root_id, seqAfter(change)])
}
