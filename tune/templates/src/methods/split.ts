/** `str.split`, `str.rsplit` and `str.strip` with characters. */
import { integerOr, textArgument } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import { charactersOf } from '../sequences.ts'
import { SPACE, strip, stripEnd, stripStart } from '../text/white-space.ts'
import type { Value } from '../values.ts'

/** Without characters, white space is removed. */
export function stripCharacters(
  text: string,
  characters: string | undefined,
  { start, end }: { start: boolean; end: boolean },
): string {
  if (characters === undefined) return start && end ? strip(text) : start ? stripStart(text) : stripEnd(text)
  const removed = new Set(charactersOf(characters))
  const chars = charactersOf(text)
  let [from, to] = [0, chars.length]
  if (start) while (from < to && removed.has(chars[from] ?? '')) from++
  if (end) while (to > from && removed.has(chars[to - 1] ?? '')) to--
  return chars.slice(from, to).join('')
}

export function split(text: string, [sep, max]: readonly (Value | undefined)[], isRight: boolean): string[] {
  const limit = integerOr('split', max, -1)
  if (sep === undefined || sep === null) return splitSpaces(text, limit, isRight)
  const separator = textArgument('split', sep)
  if (separator === '') throw new TemplateError('empty separator')
  if (!isRight) {
    const parts = text.split(separator)
    return limit < 0 || parts.length <= limit + 1
      ? parts
      : [...parts.slice(0, limit), parts.slice(limit).join(separator)]
  }
  const parts: string[] = []
  let rest = text
  for (let left = limit < 0 ? Infinity : limit; left > 0; left--) {
    const at = rest.lastIndexOf(separator)
    if (at < 0) break
    parts.unshift(rest.slice(at + separator.length))
    rest = rest.slice(0, at)
  }
  return [rest, ...parts]
}

const SPACES = new RegExp(`[${SPACE}]+`)

function splitSpaces(text: string, limit: number, isRight: boolean): string[] {
  const words = strip(text).split(SPACES)
  if (words.length === 1 && words[0] === '') return []
  if (limit < 0 || words.length <= limit + 1) return words
  return isRight ? splitLast(text, limit) : splitFirst(text, limit)
}

/** The rest keeps its spaces, except those in front of it. */
function splitFirst(text: string, limit: number): string[] {
  const words: string[] = []
  let rest = stripStart(text)
  while (words.length < limit) {
    const found = SPACES.exec(rest)
    if (!found) break
    words.push(rest.slice(0, found.index))
    rest = rest.slice(found.index + found[0].length)
  }
  return rest === '' ? words : [...words, rest]
}

function splitLast(text: string, limit: number): string[] {
  const words: string[] = []
  let rest = stripEnd(text)
  while (words.length < limit) {
    const word = new RegExp(`[^${SPACE}]+$`).exec(rest)
    if (!word) break
    words.unshift(word[0])
    rest = stripEnd(rest.slice(0, word.index))
  }
  return rest === '' ? words : [rest, ...words]
}
