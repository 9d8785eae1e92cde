/**
 * Tokenises text, for indexing and for searching: a word is a run of letters and digits, ignoring case and
 * accents. Scripts without spaces are split into characters. Both stores index exactly these words, so both
 * find the same.
 */

type Word = { word: string; from: number; to: number }

/** People do not search for longer runs, such as hashes and encoded files. */
const MAX_WORD = 64

const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer']
  .map(script => String.raw`\p{Script=${script}}`)
  .join('')
const WORDS = new RegExp(String.raw`[${UNSPACED}]\p{M}*|(?:(?![${UNSPACED}])[\p{L}\p{N}\p{M}])+`, 'gu')
const PLAIN = /^[a-z0-9]*$/

function folded(run: string): string {
  const cut = run.length > MAX_WORD ? run.slice(0, MAX_WORD) : run
  const lower = cut.toLowerCase()
  return PLAIN.test(lower) ? lower : lower.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

function* wordsOf(text: string): Generator<Word> {
  for (const { 0: run, index } of text.matchAll(WORDS)) {
    const word = folded(run)
    if (word !== '') yield { word, from: index, to: index + run.length }
  }
}

/** The distinct words of the texts. */
export function wordSet(texts: readonly string[]): Set<string> {
  const words = new Set<string>()
  for (const text of texts) for (const { word } of wordsOf(text)) words.add(word)
  return words
}

/** `prefix`: the last word, which may be incomplete; it matches every word that starts with it. */
export type Wanted = { words: readonly string[]; prefix: string | null }

/** Shorter prefixes match too many words to be useful. */
const MIN_PREFIX = 3
/** Further words are ignored. */
const MAX_WANTED = 12

/** Null if the text contains no word. */
export function parseWanted(text: string): Wanted | null {
  const words = [...wordSet([text])].slice(0, MAX_WANTED)
  const last = words.at(-1)
  if (last === undefined) return null
  const isOpen = last.length >= MIN_PREFIX && !/\s$/.test(text)
  return isOpen ? { words: words.slice(0, -1), prefix: last } : { words, prefix: null }
}

const fits = ({ words, prefix }: Wanted, word: string): boolean =>
  words.includes(word) || (prefix !== null && word.startsWith(prefix))

/** True if one text contains all of them. */
export function holdsAll(wanted: Wanted, text: string): boolean {
  const found = wordSet([text])
  return (
    wanted.words.every(word => found.has(word)) &&
    (wanted.prefix === null || [...found].some(word => word.startsWith(wanted.prefix as string)))
  )
}

/** `marks`: positions of the matches in `text`, in UTF-16 units. */
export type Excerpt = { text: string; marks: [from: number, to: number][] }

const BEFORE = 60
const LENGTH = 200

/** The part of a text around the first match. */
export function excerptOf(wanted: Wanted, text: string): Excerpt {
  const found: Word[] = []
  for (const word of wordsOf(text)) {
    if (!fits(wanted, word.word)) continue
    if (found[0] !== undefined && word.to > found[0].from + LENGTH) break
    found.push(word)
  }
  const first = found[0]?.from ?? 0
  const from = first <= BEFORE ? 0 : wordStart(text, first - BEFORE)
  const to = Math.min(text.length, from + LENGTH)
  const marks = found
    .filter(word => word.to <= to)
    .map(({ from: at, to: end }): [number, number] => [at - from, end - from])
  const lead = from > 0 ? '… ' : ''
  return {
    text: `${lead}${text.slice(from, to)}${to < text.length ? ' …' : ''}`.replace(/[\r\n\t]/g, ' '),
    marks: marks.map(([at, end]) => [at + lead.length, end + lead.length]),
  }
}

/** The start of the next word; never inside a character. */
function wordStart(text: string, near: number): number {
  const space = text.slice(near, near + BEFORE).search(/\s/)
  if (space >= 0) return near + space + 1
  const code = text.charCodeAt(near)
  return code >= 0xdc00 && code <= 0xdfff ? near + 1 : near
}
