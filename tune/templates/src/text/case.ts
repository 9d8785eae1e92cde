/** Upper, lower and title case as Python's `str` has them. JavaScript lacks title case and folding. */
import { charactersOf } from '../sequences.ts'

/** Characters whose title case is a character of its own: the digraphs DŽ, LJ, NJ and DZ. */
const DIGRAPHS: Readonly<Record<string, string>> = {
  Ǆ: 'ǅ',
  ǅ: 'ǅ',
  ǆ: 'ǅ',
  Ǉ: 'ǈ',
  ǈ: 'ǈ',
  ǉ: 'ǈ',
  Ǌ: 'ǋ',
  ǋ: 'ǋ',
  ǌ: 'ǋ',
  Ǳ: 'ǲ',
  ǲ: 'ǲ',
  ǳ: 'ǲ',
  ŉ: 'ʼN',
}
/** Letters of Georgian have no title case. */
const isGeorgian = (code: number) => code >= 0x10d0 && code <= 0x10ff
/** Greek letters with an iota below, which title case leaves there. */
const hasIota = (code: number) => code >= 0x1f80 && code <= 0x1fff

function iotaTitle(char: string): string {
  const [base = '', ...marks] = char.normalize('NFD')
  if (!marks.includes('\u0345')) return plainTitle(char)
  const upper = base.toUpperCase() + marks.join('')
  return upper.normalize('NFC')
}

const plainTitle = (char: string): string => {
  const [first = '', ...rest] = char.toUpperCase()
  return first + rest.join('').toLowerCase()
}

function titleOf(char: string): string {
  const code = char.codePointAt(0) ?? 0
  if (isGeorgian(code)) return char
  return DIGRAPHS[char] ?? (hasIota(code) ? iotaTitle(char) : plainTitle(char))
}

const IS_CASED = /[\p{Lowercase}\p{Uppercase}\p{Lt}]/u
const IS_LOWER = /\p{Lowercase}/u
const IS_UPPER = /\p{Uppercase}/u
const IS_TITLE = /\p{Lt}/u

/** `str.title`: the first letter of each run of letters. */
export function titleCase(text: string): string {
  const chars = charactersOf(text)
  let isInside = false
  return chars
    .map((char, i) => {
      const made = isInside ? lowerAt(chars, i) : titleOf(char)
      isInside = IS_CASED.test(char)
      return made
    })
    .join('')
}

/** A sigma that no letter follows is a final one. */
const lowerAt = (chars: readonly string[], at: number): string =>
  chars[at] === 'Σ' ? (IS_CASED.test(chars[at + 1] ?? '') ? 'σ' : 'ς') : (chars[at] ?? '').toLowerCase()

export function capitalize(text: string): string {
  const [first] = charactersOf(text)
  if (first === undefined) return ''
  // The rest is lowered together with the first, because a final sigma looks back.
  const lower = text.toLowerCase()
  return titleOf(first) + lower.slice(first.toLowerCase().length)
}

export const swapCase = (text: string): string =>
  charactersOf(text)
    .map(char => (IS_UPPER.test(char) ? char.toLowerCase() : char.toUpperCase()))
    .join('')

/** Cherokee folds to upper case, and the letter ẞ to two. */
export const caseFold = (text: string): string =>
  charactersOf(text)
    .map(char => {
      const code = char.codePointAt(0) ?? 0
      if (code === 0x131) return char
      if (code === 0x1e9e) return 'ss'
      const upper = char.toUpperCase()
      const isCherokee = /\p{Script=Cherokee}/u.test(char)
      return isCherokee ? upper : upper.toLowerCase().replaceAll('ς', 'σ')
    })
    .join('')

/** `str.islower`: there is a letter with case, and none is upper. */
export const isLower = (text: string): boolean =>
  IS_LOWER.test(text) && !IS_UPPER.test(text) && !IS_TITLE.test(text)

export const isUpper = (text: string): boolean =>
  IS_UPPER.test(text) && !IS_LOWER.test(text) && !IS_TITLE.test(text)

export function isTitle(text: string): boolean {
  let isInside = false
  let isFound = false
  for (const char of charactersOf(text)) {
    const isStart = IS_UPPER.test(char) || IS_TITLE.test(char)
    if (isStart ? isInside : IS_LOWER.test(char) && !isInside) return false
    isInside = IS_CASED.test(char)
    isFound ||= isStart || isInside
  }
  return isFound
}
