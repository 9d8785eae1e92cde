/** The board of a tree on Postgres; changes run under the lock of the tree. */
import { orgOf } from '../../engine/directory.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { linkRefusals } from '../links/row.ts'
import { type BoardChange, type BoardNote, type BoardReads, seqAfter, toNote } from './row.ts'

/** Locks the tree, even if it had no row. */
const LOCK: Statement = {
  name: 'board_seq',
  text: `
    INSERT INTO trees (org_key, root_id, version) VALUES ($1, $2, 0)
    ON CONFLICT (org_key, root_id) DO UPDATE SET board_seq = trees.board_seq
    RETURNING board_seq`,
}
const ADD_NOTE: Statement = {
  name: 'add_note',
  text: `
    INSERT INTO board_notes (org_key, root_id, seq, writer_id, type, content, ref, status, created_at,
      expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'active', $8, $9)`,
}
const SUPERSEDE_NOTE: Statement = {
  name: 'supersede_note',
  text: `UPDATE board_notes SET status = 'superseded' WHERE org_key = $1 AND root_id = $2 AND seq = $3`,
}
const RENEW_NOTE: Statement = {
  name: 'renew_note',
  text: `UPDATE board_notes SET expires_at = $1 WHERE org_key = $2 AND root_id = $3 AND seq = $4`,
}
const SET_BOARD_SEQ: Statement = {
  name: 'set_board_seq',
  text: `UPDATE trees SET board_seq = $3 WHERE org_key = $1 AND root_id = $2`,
}
const OF_TREE = `org_key = ${orgOf('session', '$1')} AND root_id = $1`
const BOARD_SEQ: Statement = {
  name: 'board_seq_of',
  text: `SELECT board_seq FROM trees WHERE ${OF_TREE}`,
}
/** Excludes notes that were written between the two reads. */
const NOTES: Statement = {
  name: 'notes_of_board',
  text: `SELECT * FROM board_notes WHERE ${OF_TREE} AND seq <= $2 AND status = 'active' ORDER BY seq`,
}
const NOTES_SINCE: Statement = {
  name: 'notes_since',
  text: `
    SELECT count(*) AS count FROM board_notes WHERE ${OF_TREE} AND writer_id = $2 AND created_at > $3`,
}

export const boardOnPostgres: Resource<BoardChange, BoardReads>['postgres'] = {
  changes: {
    async 'board.add'(ask, change, { row, at }) {
      const { org_key } = row
      const { root_id, last_seq, writer_id, notes, supersede, renew } = change
      const [tree] = await ask(LOCK, [org_key, root_id])
      if (Number(tree?.['board_seq']) !== last_seq) throw linkRefusals.moved(row, root_id)
      for (const [index, { type, content, ref, ttl_ms }] of notes.entries()) {
        const expires_at = ttl_ms === null ? null : at + ttl_ms
        await ask(ADD_NOTE, [
          org_key,
          root_id,
          last_seq + 1 + index,
          writer_id,
          type,
          content,
          ref,
          at,
          expires_at,
        ])
      }
      for (const seq of supersede) await ask(SUPERSEDE_NOTE, [org_key, root_id, seq])
      for (const { seq, ttl_ms } of renew) await ask(RENEW_NOTE, [at + ttl_ms, org_key, root_id, seq])
      await ask(SET_BOARD_SEQ, [org_key, root_id, seqAfter(change)])
    },
  },

  store: ({ db }) => ({
    async read(rootId) {
      const [tree] = await db.query(BOARD_SEQ, [rootId], { repeatable: true })
      const last_seq = Number(tree?.['board_seq'] ?? 0)
      const notes = await db.query(NOTES, [rootId, last_seq], { repeatable: true })
      return { last_seq, notes: (notes as Keyed<BoardNote>[]).map(toNote) }
    },
    async countSince(rootId, writerId, from) {
      const [row] = await db.query(NOTES_SINCE, [rootId, writerId, from], { repeatable: true })
      return Number(row?.['count'])
    },
  }),
}
