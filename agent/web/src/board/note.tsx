/** One note of a board. A worker wrote it, so it is shown as plain text. */
import type { ReactNode } from 'react'
import type { BoardView } from '@cairn/protocol'
import { ExactText } from '../ui/exact-text.tsx'
import './board.css'

type Props = {
  type: BoardView['notes'][number]['type']
  content: string
  noteRef: string | null
  /** The author or the expiry of the note. */
  children?: ReactNode
}

export function Note({ type, content, noteRef, children }: Props) {
  return (
    <li className="note" data-testid="board-note" data-type={type}>
      <span className="note-type">{type}</span>
      <span className="note-text">
        <ExactText text={content} />
        {noteRef !== null && (
          <code className="note-ref">
            <ExactText text={noteRef} />
          </code>
        )}
      </span>
      {children !== undefined && <span className="note-writer faint">{children}</span>}
    </li>
  )
}
