/** A board note that the session wrote or received, at its position in the chat. */
import { memo, useState } from 'react'
import { visibleText, type BoardView } from '@cairn/protocol'
import type { BoardItem as Board } from '@cairn/state'
import { Note } from '../board/note.tsx'
import { formatDuration, oneLine } from '../format.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { BoardIcon, ChevronIcon } from '../ui/page-icons.tsx'
import './worker-item.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

type Props = { item: Board; onEvent: (id: number) => void }

export const BoardItem = memo(function BoardItem({ item, onEvent }: Props) {
  const [isOpen, setOpen] = useState(false)
  const lines = item.way === 'read' ? readLines(item.content) : []
  const notes = item.way === 'shared' ? item.notes : lines.flatMap(line => ('id' in line ? [line] : []))
  return (
    <details
      className="tool worker board"
      data-testid="board-item"
      data-way={item.way}
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <BoardIcon />
        <span className="tool-verb">{chatWords.board}</span>
        <span className="worker-goal truncate">
          {oneLine(visibleText(notes.map(({ content }) => content).join(' · ')), 140)}
        </span>
        <span className="tool-result faint">
          {item.way === 'shared' ? chatWords.sharedNotes(notes.length) : wordOf(item, notes.length)}
        </span>
      </summary>
      {isOpen && (
        <div className="tool-body">
          <h4>{item.way === 'shared' ? chatWords.shared : chatWords.readFromBoard}</h4>
          <ul className="notes">
            {item.way === 'shared'
              ? item.notes.map(({ id, type, content, ref = null, ttl_seconds: ttl }) => (
                  <Note key={id} type={type} content={content} noteRef={ref}>
                    {ttl === undefined ? id : chatWords.kept(id, formatDuration(ttl * 1000))}
                  </Note>
                ))
              : lines.map((line, at) =>
                  'id' in line ? (
                    <Note key={line.id} type={line.type} content={line.content} noteRef={null}>
                      {line.id} · {line.writer}
                    </Note>
                  ) : (
                    <li key={at} className="faint">
                      <ExactText text={line.text} />
                    </li>
                  ),
                )}
          </ul>
          <button type="button" className="json-link tool-event" onClick={() => onEvent(item.event_id)}>
            {generalWords.event(item.event_id)}
          </button>
        </div>
      )}
    </details>
  )
})

const wordOf = ({ update }: { update: 'snapshot' | 'delta' }, count: number): string =>
  update === 'snapshot' ? chatWords.readAll(count) : chatWords.readNew(count)

type ReadLine =
  | { id: string; writer: string; type: BoardView['notes'][number]['type']; content: string }
  /** A heading, or a line in the format of another release; shown unchanged. */
  | { text: string }

const LINE = /^\[(?<id>n\d+) (?<writer>\S+) (?<type>FACT|FAIL|CLAIM|RESULT)\] (?<content>.*)$/

/** Parses the text of a board that the model read. */
const readLines = (content: string): ReadLine[] =>
  content.split('\n').map(text => {
    const { id, writer, type, content } = LINE.exec(text)?.groups ?? {}
    return id === undefined || writer === undefined || content === undefined
      ? { text }
      : { id, writer, type: type as BoardView['notes'][number]['type'], content }
  })
