/** The board of a tree on the embedded store. */
import { orgOf } from '../../engine/directory.ts'
import type { Keyed, Resource } from '../../engine/resource.ts'
import { linkRefusals } from '../links/row.ts'
import { type BoardChange, type BoardNote, type BoardReads, seqAfter, toNote } from './row.ts'

export const boardOnSqlite: Resource<BoardChange, BoardReads>['sqlite'] = {
  changes(db) {
    const boardSeq = db.prepare(`SELECT board_seq FROM trees WHERE org_key = ? AND root_id = ?`)
    const setBoardSeq = db.prepare(`
      INSERT INTO trees (org_key, root_id, version, board_seq) VALUES (?, ?, 0, ?)
      ON CONFLICT (org_key, root_id) DO UPDATE SET board_seq = excluded.board_seq`)
    const add = db.prepare(`
      INSERT INTO board_notes (org_key, root_id, seq, writer_id, type, content, ref, status, created_at,
        expires_at)
      VALUES (:org_key, :root_id, :seq, :writer_id, :type, :content, :ref, 'active', :at, :expires_at)`)
    const supersedeNote = db.prepare(`
      UPDATE board_notes SET status = 'superseded' WHERE org_key = ? AND root_id = ? AND seq = ?`)
    const renewNote = db.prepare(
      `UPDATE board_notes SET expires_at = ? WHERE org_key = ? AND root_id = ? AND seq = ?`,
    )
    return {
      'board.add'(change, { row, at }) {
        const { org_key } = row
        const { root_id, last_seq, writer_id, notes, supersede, renew } = change
        if (Number(boardSeq.get(org_key, root_id)?.['board_seq'] ?? 0) !== last_seq)
          throw linkRefusals.moved(row, root_id)
        for (const [index, { type, content, ref, ttl_ms }] of notes.entries()) {
          const expires_at = ttl_ms === null ? null : at + ttl_ms
          add.run({
            org_key,
            root_id,
            seq: last_seq + 1 + index,
            writer_id,
            type,
            content,
            ref,
            at,
            expires_at,
          })
        }
        for (const seq of supersede) supersedeNote.run(org_key, root_id, seq)
        for (const { seq, ttl_ms } of renew) renewNote.run(at + ttl_ms, org_key, root_id, seq)
        setBoardSeq.run(org_key, root_id, seqAfter(change))
      },
    }
  },

  reads(db) {
    const OF_TREE = `org_key = ${orgOf('session', '?1')} AND root_id = ?1`
    const boardSeq = db.prepare(`SELECT board_seq FROM trees WHERE ${OF_TREE}`)
    /** Excludes notes that were written between the two reads. */
    const notes = db.prepare(`
      SELECT * FROM board_notes WHERE ${OF_TREE} AND seq <= ?2 AND status = 'active' ORDER BY seq`)
    const written = db.prepare(`
      SELECT count(*) AS count FROM board_notes WHERE ${OF_TREE} AND writer_id = ?2 AND created_at > ?3`)
    return {
      read(rootId) {
        const last_seq = Number(boardSeq.get(rootId)?.['board_seq'] ?? 0)
        return { last_seq, notes: (notes.all(rootId, last_seq) as Keyed<BoardNote>[]).map(toNote) }
      },
      countSince: (rootId, writer, from) => Number(written.get(rootId, writer, from)?.['count']),
    }
  },
}
