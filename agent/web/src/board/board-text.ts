/** Parses the text of a board that the model read. */
import type { BoardView } from '@cairn/protocol'

export type ReadLine =
  | { id: string; writer: string; type: BoardView['notes'][number]['type']; content: string }
  /** A heading, or a line in the format of another release; shown unchanged. */
  | { text: string }

const LINE = /^\[(?<id>n\d+) (?<writer>\S+) (?<type>FACT|FAIL|CLAIM|RESULT)\] (?<content>.*)$/

export const readLines = (content: string): ReadLine[] =>
  content.split('\n').map(text => {
    const { id, writer, type, content } = LINE.exec(text)?.groups ?? {}
    return id === undefined || writer === undefined || content === undefined
      ? { text }
      : { id, writer, type: type as BoardView['notes'][number]['type'], content }
  })
