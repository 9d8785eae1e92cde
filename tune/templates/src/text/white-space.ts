/** White space and line breaks as Python's `str` has them. They differ from those of JavaScript. */

/** For a character class: what `str.isspace` and `\s` accept. U+FEFF is not among them. */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const LEADING = new RegExp(`^[${SPACE}]+`)
const SPACES = new RegExp(`^[${SPACE}]*$`)
const IS_SPACE = new RegExp(`[${SPACE}]`)

export const stripStart = (text: string): string => text.replace(LEADING, '')

/** A loop, because an expression anchored at the end needs quadratic time for text with many spaces. */
export function stripEnd(text: string): string {
  let end = text.length
  while (end > 0 && IS_SPACE.test(text[end - 1] ?? '')) end--
  return text.slice(0, end)
}

export const strip = (text: string): string => stripStart(stripEnd(text))

export const isSpaces = (text: string): boolean => SPACES.test(text)

/** Characters that end a line besides CR LF, with the separators of ASCII. */
const BREAKS = `${String.raw`\n\r\v\f\x85\u2028\u2029`}${String.fromCharCode(0x1c, 0x1d, 0x1e)}`
const LINE_BREAK = new RegExp(`\\r\\n|[${BREAKS}]`, 'g')

/** `str.splitlines`. */
export function splitLines(text: string, keepsBreaks = false): string[] {
  const lines: string[] = []
  let start = 0
  for (const found of text.matchAll(LINE_BREAK)) {
    const end = found.index + found[0].length
    lines.push(text.slice(start, keepsBreaks ? end : found.index))
    start = end
  }
  if (start < text.length) lines.push(text.slice(start))
  return lines
}
