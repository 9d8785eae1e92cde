/** Text of models and tools on its way to a terminal. */
import { visibleText } from '@cairn/protocol'

/**
 * What a terminal would obey or hide is drawn: an escape sequence must not move the cursor, set the title or
 * fill the clipboard of a reader.
 */
export const printable = visibleText

/** On one line, at most so long. */
export function oneLine(text: string, max: number): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim())
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

/** JSON on one line, for a program and for the terminal it may stand in: the same value, nothing unseen. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replaceAll(/[^\0-~]/gu, shownOrEscaped)}\n`

const shownOrEscaped = (character: string): string =>
  printable(character) === character ? character : escaped(character)

const escaped = (character: string): string =>
  character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
