/** `textwrap.wrap` for one line, with the options of the filter `wordwrap`. */
import { charactersOf, textLength } from '../sequences.ts'
import { isSpaces } from './white-space.ts'

type WrapOptions = { width: number; breaksWords: boolean; breaksHyphens: boolean }

const SPACE = '[\\t-\\r ]'
const WORD = '[\\p{L}\\p{N}_]'
const IN_WORD = `[\\p{L}\\p{N}_!"'&.,?]`
const LETTER = '[\\p{L}\\p{Nl}\\p{No}_]'
const SPACES = new RegExp(`(${SPACE}+)`, 'u')
/** White space, a dash between words, or a word up to a hyphen, to its end or to a dash. */
const PARTS = new RegExp(
  `(${SPACE}+|(?<=${IN_WORD})-{2,}(?=${WORD})|[^\\t-\\r ]+?(?:` +
    `-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${IN_WORD}-))(?=${LETTER}-?${LETTER})` +
    `|(?=${SPACE}|$)|(?<=${IN_WORD})(?=-{2,}${WORD})))`,
  'u',
)

export function wrapLine(line: string, { width, breaksWords, breaksHyphens }: WrapOptions): string[] {
  const chunks = line.split(breaksHyphens ? PARTS : SPACES).filter(chunk => chunk !== '')
  const lines: string[] = []
  while (chunks.length > 0) {
    if (lines.length > 0 && isSpaces(chunks[0] ?? '')) chunks.shift()
    const taken: string[] = []
    let size = 0
    while (chunks.length > 0 && size + textLength(chunks[0] ?? '') <= width) {
      const chunk = chunks.shift() ?? ''
      taken.push(chunk)
      size += textLength(chunk)
    }
    const [long] = chunks
    if (long !== undefined && textLength(long) > width) {
      if (breaksWords) {
        const chars = charactersOf(long)
        const end = breakOf(chars, width < 1 ? 1 : width - size, breaksHyphens)
        // An empty part counts as white space below, so that a space in front of it stays, as in Python.
        taken.push(chars.slice(0, end).join(''))
        chunks[0] = chars.slice(end).join('')
      } else if (taken.length === 0) taken.push(chunks.shift() ?? '')
    }
    if (taken.length > 0 && isSpaces(taken.at(-1) ?? '')) taken.pop()
    if (taken.length > 0) lines.push(taken.join(''))
  }
  return lines
}

/** Where a word that is longer than a line is broken: behind a hyphen if there is one. */
function breakOf(chars: readonly string[], room: number, breaksHyphens: boolean): number {
  if (!breaksHyphens) return room
  const hyphen = chars.slice(0, room).lastIndexOf('-')
  return hyphen > 0 && chars.slice(0, hyphen).some(char => char !== '-') ? hyphen + 1 : room
}
