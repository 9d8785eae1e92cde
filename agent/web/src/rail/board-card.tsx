/** The current board of the session tree. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { boardQuery } from '../board/board-query.ts'
import { Note } from '../board/note.tsx'
import { SessionLink } from '../sessions/session-link.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

/** `isLive`: sessions that may write to the board are running. */
export function BoardCard({ sessionId, isLive }: { sessionId: string; isLive: boolean }) {
  const { data: board } = useQuery(boardQuery(sessionId, isLive))
  const [isOpen, setOpen] = useState(false)
  if (board === undefined || board.notes.length === 0) return null
  return (
    <details
      className="rail-part"
      data-testid="board"
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <strong>{chatWords.board}</strong>
        <span className="rail-facts">{generalWords.notes(board.notes.length)}</span>
      </summary>
      {isOpen && (
        <ul className="notes">
          {board.notes.map(({ id, type, content, ref, writer_id }) => (
            <Note key={id} type={type} content={content} noteRef={ref}>
              {writer_id === sessionId ? (
                chatWords.thisSession
              ) : (
                <SessionLink id={writer_id} unnamed={chatWords.aWorker} />
              )}
            </Note>
          ))}
        </ul>
      )}
    </details>
  )
}
