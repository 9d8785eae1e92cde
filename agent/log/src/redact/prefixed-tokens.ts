/**
 * The table of prefixes as regular expressions: for tokens that are whole, and for one that is just arriving.
 */
import type { RunRule } from './runs.ts'
import { PREFIX_RULES, type PrefixRule } from './secret-prefixes.ts'

/**
 * A secret may follow anything but a character of its own alphabet, or an escape such as \n of a JSON text
 * within the text.
 */
export const START = String.raw`(?<![A-Za-z0-9_-](?<!\\[nrtbf]))`

export const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)

const whole = (rule: PrefixRule): string =>
  `(?:${rule.prefixes.map(escapeRegExp).join('|')})${rule.rest ?? `${rule.body}{${rule.min},}`}`
function firstOf(rules: readonly PrefixRule[]): string {
  const letters = new Set(rules.flatMap(rule => rule.prefixes.map(prefix => prefix.charAt(0))))
  return `(?=[${[...letters].map(escapeRegExp).join('')}])`
}
const inside = PREFIX_RULES.filter(rule => rule.anywhere === true)
const ahead = PREFIX_RULES.filter(rule => rule.anywhere !== true)

/** A token, whole. The look at its first letter comes first: it is cheap, and nearly always says no. */
export const TOKEN = new RegExp(
  `${firstOf(ahead)}${START}(?:${ahead.map(whole).join('|')})|` +
    `${firstOf(inside)}(?:${inside.map(whole).join('|')})`,
  'g',
)
export const PREFIXES: readonly string[] = PREFIX_RULES.flatMap(rule => rule.prefixes)

/** The letters of a word, each optional after the one before it, and then what may follow the whole word. */
export const begun = (word: string, then = ''): string =>
  [...word].reduceRight((rest, letter) => `${escapeRegExp(letter)}(?:${rest})?`, then)

const begunPrefix = (rules: readonly PrefixRule[]): string =>
  rules.flatMap(({ prefixes }) => prefixes.map(prefix => begun(prefix))).join('|')

/** The beginning of a token's own beginning, at the end of a text. */
export const TOKEN_BEGUN = `(?:${START}(?:${begunPrefix(ahead)})|(?:${begunPrefix(inside)}))$`

/** Tokens whose own beginning is whole, by the alphabet of what follows. */
export const TOKEN_RUNS: readonly RunRule[] = [...runsOf(ahead, START), ...runsOf(inside, '')]

function runsOf(rules: readonly PrefixRule[], before: string): RunRule[] {
  return [...Map.groupBy(rules, ({ body }) => body)].map(([body, alike]) => {
    const prefixes = alike.flatMap(rule => rule.prefixes)
    return {
      head: `${firstOf(alike)}${before}(?:${prefixes.map(escapeRegExp).join('|')})`,
      body,
      longest: Math.max(...prefixes.map(prefix => prefix.length)),
    }
  })
}
