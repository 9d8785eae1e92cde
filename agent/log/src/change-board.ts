/** Changes to a board within a commit, inside the writer's transaction. */
import { type BoardChange, seqAfter } from './board.ts'
import { linkRefusals } from './change-link.ts'
import type { LinkSql } from './link-sql.ts'
import type { StoredSession } from './session-rows.ts'

export function changeBoard(sql: LinkSql, row: StoredSession, at: number, change: BoardChange): void {
  const { root_id, last_seq, writer_id, notes, supersede, renew } = change
  if (Number(sql.boardSeq.get(root_id)?.['board_seq'] ?? 0) !== last_seq)
    throw linkRefusals.moved(row, root_id)
  for (const [index, { type, content, ref, ttl_ms }] of notes.entries())
    sql.addNote.run({
      root_id,
      seq: last_seq + 1 + index,
      writer_id,
      type,
      content,
      ref,
      at,
      expires_at: ttl_ms === null ? null : at + ttl_ms,
    })
  for (const seq of supersede) sql.supersedeNote.run(root_id, seq)
  for (const { seq, ttl_ms } of renew) sql.renewNote.run(at + ttl_ms, root_id, seq)
  sql.setBoardSeq.run(root_id, seqAfter(change))
}
