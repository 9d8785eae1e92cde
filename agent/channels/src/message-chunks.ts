/** The messages of an event, cut to the limits of its platform. */
import { isBlank, type SessionEvent } from '@cairn/protocol'
import { splitMessage } from './split-message.ts'
import { type Piece, type Reader, render } from './render.ts'
import type { Delivering } from './send-part.ts'

export type MessageChunk = { piece: Piece; text: string }

export async function messageChunks(delivering: Delivering, event: SessionEvent): Promise<MessageChunk[]> {
  const reader = await readerOf(delivering, event.session_id)
  const { text } = delivering.connection.adapter.limits
  return render(event, reader).flatMap(piece => splitPiece(piece, text))
}

/** The last part has the buttons, and the file. Blank parts are left out, because platforms reject them. */
const splitPiece = (piece: Piece, limit: number): MessageChunk[] =>
  splitMessage(piece.text, limit)
    .filter(text => !isBlank(text))
    .map((text, at, all) => ({
      piece: at === all.length - 1 ? piece : { type: piece.type, text: piece.text },
      text,
    }))

async function readerOf({ deps, connection }: Delivering, sessionId: string): Promise<Reader> {
  const { publicUrl, adapter } = connection
  return {
    isLinked: (await deps.store.sessions.get(sessionId))?.created_by_kind === 'user',
    hasNoButtons: adapter.hasNoButtons === true,
    ...(adapter.limits.updateEveryMin === undefined ? {} : { updateEveryMin: adapter.limits.updateEveryMin }),
    ...(publicUrl === null ? {} : { link: `${publicUrl}/sessions/${sessionId}` }),
  }
}
