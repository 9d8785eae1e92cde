/** Text of models and tools on its way to a terminal. */

// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/** Escape sequences of a model must not move the cursor, set the title or fill the clipboard of a reader. */
export const printable = (text: string): string => text.replaceAll(CONTROLS, '\u00b7')

/** On one line, at most so long. */
export function oneLine(text: string, max: number): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim())
  return line.length > max ? `${line.slice(0, max - 1)}…` : line
}
