/**
 * Secrets reach no event (contract 2.5 and 11.5). One cheap look at the whole JSON text decides whether
 * anything could be in it; only then are its string literals decoded, redacted as the plain text they mean,
 * and encoded again. So the result is JSON whatever the secret looks like, and a secret after an escaped
 * newline is found like any other.
 *
 * What is looked for: the credentials of this deployment (`known`), tokens that vendors give a beginning of
 * their own (redact/secret-prefixes.ts), blocks of private keys (redact/key-blocks.ts), and what a name or a
 * scheme in front of it makes a secret (redact/in-context.ts). A secret that was encoded (base64, percent,
 * reversed, another case) passes: docs/secrets.md.
 */
import { withoutCookies } from './redact/in-commands.ts'
import { CONTEXTS, isSecretMember } from './redact/in-context.ts'
import { KEY_BLOCK_WORDS, withoutKeyBlocks, withoutKeyMaterial } from './redact/key-blocks.ts'
import { escapeRegExp, prefixWords, TOKEN } from './redact/prefixed-tokens.ts'
import { ESCAPE_WORDS, withoutSequences } from './redact/escape-sequences.ts'
import { isPair, type Mode } from './redact/values.ts'
import { createWordFinder, type Word } from './redact/word-finder.ts'

export const REDACTED = '[REDACTED]'

/**
 * JSON text to JSON text. In `arguments`, which somebody approves and an audit reads, no more is taken out
 * than the secret itself: every character that a shell could act on stays.
 */
export type Redact = (json: string, mode?: Mode) => string

/** Shorter ones would blank ordinary words, and no credential is that short. */
const SHORTEST_KNOWN = 6

/**
 * An image: nothing but base64, and more of it than any key has. Chance finds every short pattern somewhere
 * in a megabyte.
 */
const BASE64 = /^[A-Za-z0-9+/\s]{4096,}={0,2}$/

const KNOWN = 1
const PREFIXED = 2
const KEY_BLOCK = 4
const ESCAPES = 8
const CONTEXT_BITS = Object.entries(CONTEXTS).map(([, context], at) => [16 << at, context] as const)
/** A member of the JSON itself is judged by its name, which stands in another literal. */
const MEMBER = CONTEXT_BITS.reduce(
  (mask, [bit, { rule }]) =>
    [CONTEXTS.jwk.rule, CONTEXTS.assigned.rule, CONTEXTS.cookie.rule, CONTEXTS.registry.rule].includes(rule)
      ? mask | bit
      : mask,
  0,
)
const WORDS: readonly Word[] = [
  ...prefixWords(PREFIXED, { whole: true }),
  ...ESCAPE_WORDS.map((word): Word => [word, ESCAPES]),
  ...KEY_BLOCK_WORDS.map((word): Word => [word, KEY_BLOCK]),
  ...CONTEXT_BITS.flatMap(([bit, { words }]) => words.map((word): Word => [word, bit])),
]

const COOKIE_MEMBER = /^(?:set-)?cookie$/i

/** More than texts need; a credential that is part of the mark itself must not keep it going. */
const MOST_ROUNDS = 32

/** As a text looks inside a JSON string. */
export const encodeInJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * Applies `change` to each string literal of a JSON text, telling it the literal before a colon in front of
 * it. By hand: a regular expression runs out of stack on a megabyte of escapes.
 */
function mapLiterals(json: string, change: (literal: string, key: string | null) => string): string {
  let mapped = ''
  let from = 0
  let before = ''
  for (let open = json.indexOf('"'); open !== -1; open = json.indexOf('"', from)) {
    let close = json.indexOf('"', open + 1)
    while (isEscaped(json, close)) close = json.indexOf('"', close + 1)
    const literal = json.slice(open, close + 1)
    const gap = json.slice(from, open)
    mapped += gap + change(literal, gap.trim() === ':' ? before : null)
    before = literal
    from = close + 1
  }
  return mapped + json.slice(from)
}

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(json: string, at: number): boolean {
  let start = at
  while (json[start - 1] === '\\') start -= 1
  return (at - start) % 2 === 1
}

/** Made once: it takes some milliseconds. */
let findWithoutKnown: ((text: string) => number) | undefined

/** `known` are credentials of this deployment, removed wherever they stand. */
export function createRedactor(known: readonly string[] = []): Redact {
  const values = [...new Set(known)]
    .filter(value => value.length >= SHORTEST_KNOWN)
    .toSorted((a, b) => b.length - a.length)
  // Each also as it looks inside JSON that is quoted in a string, as tool results are.
  const forms = [...new Set(values.flatMap(value => [value, encodeInJson(value)]))]
  const exact = forms.length === 0 ? null : new RegExp(forms.map(escapeRegExp).join('|'), 'g')
  const find =
    forms.length === 0
      ? (findWithoutKnown ??= createWordFinder(WORDS))
      : createWordFinder([...WORDS, ...forms.map((form): Word => [encodeInJson(form), KNOWN])])

  /** What could be in the text; zero for nearly all. */
  function suspicion(json: string): number {
    let mask = find(json)
    const plain = (mask & ESCAPES) === 0 ? json : withoutSequences(json)
    if (plain !== json) mask |= find(plain)
    for (const [bit, { look }] of CONTEXT_BITS)
      if ((mask & bit) !== 0 && look !== null && !look.test(json) && (plain === json || !look.test(plain)))
        mask &= ~bit
    return mask === ESCAPES ? 0 : mask
  }

  function redactText(text: string, mode: Mode, mask: number): string {
    const left = redactPlain(text, mode, mask)
    // Of arguments every character must stay that is no secret, and commands have no colours.
    if ((mask & ESCAPES) === 0 || mode === 'arguments') return left
    const plain = withoutSequences(left)
    if (plain === left) return left
    const redacted = redactPlain(plain, mode, mask)
    return redacted === plain ? left : redacted
  }

  function redactPlain(text: string, mode: Mode, mask: number): string {
    let left = exact === null || (mask & KNOWN) === 0 ? text : text.replace(exact, REDACTED)
    if (BASE64.test(left)) return left
    if ((mask & PREFIXED) !== 0) left = left.replace(TOKEN, REDACTED)
    if ((mask & KEY_BLOCK) !== 0)
      left = mode === 'text' ? withoutKeyBlocks(left, REDACTED) : withoutKeyMaterial(left, REDACTED)
    for (const [bit, { rule }] of CONTEXT_BITS) if ((mask & bit) !== 0) left = rule(left, REDACTED, mode)
    return left
  }

  function redactLiteral(literal: string, key: string | null, mode: Mode, mask: number): string {
    const isMember = key !== null && (mask & MEMBER) !== 0
    if (!isMember && find(literal) === 0) return literal
    const text = JSON.parse(literal) as string
    // What is left of a text that was redacted before is no secret.
    const name = isMember ? (JSON.parse(key) as string) : ''
    if (
      isMember &&
      !text.includes(REDACTED) &&
      (isSecretMember(name, text) || (name === 'auth' && isPair(text)))
    )
      return JSON.stringify(REDACTED)
    const kept = COOKIE_MEMBER.test(name) ? withoutCookies(text, REDACTED, mode) : text
    const redacted = redactText(kept, mode, mask)
    return redacted === text ? literal : JSON.stringify(redacted)
  }

  const once = (json: string, mode: Mode): string => {
    const mask = suspicion(json)
    return mask === 0 ? json : mapLiterals(json, (literal, key) => redactLiteral(literal, key, mode, mask))
  }

  return (json, mode = 'text') => {
    // What stood right behind a secret may be seen to be one when that is gone.
    let redacted = once(json, mode)
    for (let round = 1, before = json; redacted !== before && round < MOST_ROUNDS; round++) {
      before = redacted
      redacted = once(redacted, mode)
    }
    return redacted
  }
}
