/** The table of prefixes as regular expressions: for complete tokens, and for one that is still arriving. */
import { SEQUENCE_END } from './escape-sequences.ts'
import type { RunRule } from './runs.ts'
import { PREFIX_RULES, type PrefixRule } from './secret-prefixes.ts'
import type { Word } from './word-finder.ts'

/**
 * A secret may follow anything except a character of its own alphabet, unless that character ends an escape
 * such as \n of a JSON text within the text, or a terminal control sequence.
 */
export const START = String.raw`(?<![A-Za-z0-9_-](?<!\\[nrtbf]|\\u[0-9a-fA-F]{4}|` + `${SEQUENCE_END}))`

export const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)

const whole = (rule: PrefixRule): string =>
  `(?:${rule.prefixes.map(escapeRegExp).join('|')})${rule.rest ?? `${rule.body}{${rule.min},}`}`
function firstOf(rules: readonly PrefixRule[]): string {
  const letters = new Set(rules.flatMap(rule => rule.prefixes.map(prefix => prefix.charAt(0))))
  return `(?=[${[...letters].map(escapeRegExp).join('')}])`
}
const inside = PREFIX_RULES.filter(rule => rule.anywhere === true)
const ahead = PREFIX_RULES.filter(rule => rule.anywhere !== true)

/**
 * A complete token. The lookahead for its first letter comes first, because it is cheap and rarely succeeds.
 */
export const TOKEN = new RegExp(
  `${firstOf(ahead)}${START}(?:${ahead.map(whole).join('|')})|` +
    `${firstOf(inside)}(?:${inside.map(whole).join('|')})`,
  'g',
)
export const PREFIXES: readonly string[] = PREFIX_RULES.flatMap(rule => rule.prefixes)

const WORD_CHARACTERS = tableOf('[A-Za-z0-9_-]')
const BEFORE_LAST = tableOf(String.raw`[\\\[\d;:?()*+]`)

/**
 * True if a word may start here. False positives are possible: START decides, and this check runs for each of
 * the short prefixes that occur in ordinary words.
 */
function mayStart(text: string, at: number): boolean {
  if (at === 0 || WORD_CHARACTERS[text.charCodeAt(at - 1)] !== 1) return true
  // A one-letter escape, the end of a control sequence, or a four-digit escape.
  return BEFORE_LAST[text.charCodeAt(at - 2)] === 1 || text.charCodeAt(at - 5) === 117
}

function tableOf(body: string): Uint8Array {
  const one = new RegExp(`^${body}$`)
  return Uint8Array.from({ length: 128 }, (_, code) => Number(one.test(String.fromCharCode(code))))
}

/**
 * The prefixes as words to search for, each confirmed by its surroundings. `whole`: enough characters follow
 * for a token; otherwise the text may also end earlier, for a streamed text.
 */
export const prefixWords = (mask: number, { whole: isWhole }: { whole: boolean }): Word[] =>
  PREFIX_RULES.flatMap(({ prefixes, body, min, anywhere = false }) => {
    const table = tableOf(body)
    return prefixes.map((prefix): Word => [
      prefix,
      mask,
      (text, end) => {
        if (!anywhere && !mayStart(text, end - prefix.length)) return false
        let at = end
        while (at - end < min && table[text.charCodeAt(at)] === 1) at += 1
        return at - end >= min || (!isWhole && at >= text.length)
      },
    ])
  })

/** The letters of a word, each optional after the one before it, and then what may follow the whole word. */
export const prefixesOf = (word: string, then = ''): string =>
  [...word].reduceRight((rest, letter) => `${escapeRegExp(letter)}(?:${rest})?`, then)

const partialPrefix = (rules: readonly PrefixRule[]): string =>
  rules.flatMap(({ prefixes }) => prefixes.map(prefix => prefixesOf(prefix))).join('|')

/** The beginning of a token's prefix, at the end of a text. */
export const PARTIAL_TOKEN = `(?:${START}(?:${partialPrefix(ahead)})|(?:${partialPrefix(inside)}))$`

/** Tokens with a complete prefix, by the alphabet of what follows. */
export const TOKEN_RUNS: readonly RunRule[] = [...runsOf(ahead, START), ...runsOf(inside, '')]

function runsOf(rules: readonly PrefixRule[], before: string): RunRule[] {
  return [...Map.groupBy(rules, ({ body }) => body)].map(([body, alike]) => {
    const prefixes = alike.flatMap(rule => rule.prefixes)
    return {
      head: `${firstOf(alike)}${before}(?:${prefixes.map(escapeRegExp).join('|')})`,
      body,
      max: Math.max(...prefixes.map(prefix => prefix.length)),
    }
  })
}
