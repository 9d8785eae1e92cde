/** Prepares text of models and tools for a terminal. */
import { visibleText } from '@cairn/protocol'

/**
 * Makes control and invisible characters visible: an escape sequence must not move the reader's cursor, set
 * the title or fill the clipboard.
 */
export const printable = visibleText

/** Flattens text to one line of at most `max` characters. */
export function oneLine(text: string, max: number): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim())
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}

/** JSON on one line, for programs and terminals: the same value with invisible characters escaped. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replaceAll(/[^\0-~]/gu, shownOrEscaped)}\n`

const shownOrEscaped = (character: string): string =>
  printable(character) === character ? character : escaped(character)

const escaped = (character: string): string =>
  character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
