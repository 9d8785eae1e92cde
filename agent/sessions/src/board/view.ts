/** The board of a session's tree as the API shows it. */
import { noteId } from '@cairn/log'
import type { BoardView } from '@cairn/protocol'
import { isLive } from './board.ts'
import type { Deps } from '../deps.ts'

export async function viewBoard({ store, now }: Deps, sessionId: string): Promise<BoardView> {
  const group_id = (await store.links.get(sessionId))?.root_id ?? sessionId
  const { last_seq, notes } = await store.board.read(group_id)
  const stamp = (ms: number): string => new Date(ms).toISOString()
  return {
    group_id,
    notes: notes
      .filter(note => isLive(note, now()))
      .map(({ seq, type, content, ref, writer_id, created_at, expires_at }) => ({
        id: noteId(seq),
        type,
        content,
        ref,
        writer_id,
        created_at: stamp(created_at),
        expires_at: expires_at === null ? null : stamp(expires_at),
      })),
    next_seq: last_seq + 1,
  }
}
