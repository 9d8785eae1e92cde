/**
 * Removes secrets from events (contract 2.5 and 11.5). A cheap scan of the whole JSON text decides whether
 * anything could be in it; only then are its string literals decoded, redacted as the plain text they
 * represent, and encoded again. So the result is JSON whatever the secret looks like, and a secret after an
 * escaped newline is found like any other.
 *
 * Detected are: the credentials of this deployment (`known`), tokens with a vendor's prefix
 * (redact/secret-prefixes.ts), private key blocks (redact/key-blocks.ts), and values that a name or a scheme
 * before them marks as secret (redact/in-context.ts). Encoded secrets (base64, percent-encoding, reversed,
 * another case) are not detected: docs/secrets.md.
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
 * JSON text to JSON text. In mode `arguments`, which people approve and audit, only the secret itself is
 * removed: every character that a shell could interpret is kept.
 */
export type Redact = (json: string, mode?: Mode) => string

/** Shorter values would match ordinary words, and no credential is that short. */
const MIN_KNOWN_CHARS = 6

/** An image: base64 only, and longer than any key. In a megabyte, every short pattern occurs by chance. */
const BASE64 = /^[A-Za-z0-9+/\s]{4096,}={0,2}$/

const KNOWN = 1
const PREFIXED = 2
const KEY_BLOCK = 4
const ESCAPES = 8
const CONTEXT_BITS = Object.entries(CONTEXTS).map(([, context], at) => [16 << at, context] as const)
/** A member of the JSON itself is judged by its name, which is a separate literal. */
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

/** More than any text needs; bounds the loop if a credential is part of the mark itself. */
const MAX_ROUNDS = 32

/** A text as it appears inside a JSON string. */
export const encodeInJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * Applies `change` to each string literal of a JSON text, passing the key if the literal is a member's value.
 * Hand-written, because a regular expression overflows the stack on a megabyte of escapes.
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

/** True if an odd number of backslashes precedes `at`. */
function isEscaped(json: string, at: number): boolean {
  let start = at
  while (json[start - 1] === '\\') start -= 1
  return (at - start) % 2 === 1
}

/** Built once, because it takes some milliseconds. */
let findWithoutKnown: ((text: string) => number) | undefined

/** `known` are credentials of this deployment, removed wherever they occur. */
export function createRedactor(known: readonly string[] = []): Redact {
  const values = [...new Set(known)]
    .filter(value => value.length >= MIN_KNOWN_CHARS)
    .toSorted((a, b) => b.length - a.length)
  // Each also as it appears in JSON that is quoted in a string, as in tool results.
  const forms = [...new Set(values.flatMap(value => [value, encodeInJson(value)]))]
  const exact = forms.length === 0 ? null : new RegExp(forms.map(escapeRegExp).join('|'), 'g')
  const find =
    forms.length === 0
      ? (findWithoutKnown ??= createWordFinder(WORDS))
      : createWordFinder([...WORDS, ...forms.map((form): Word => [encodeInJson(form), KNOWN])])

  /** Bit mask of what could be in the text; zero for nearly all. */
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
    // Arguments must keep every character that is not secret, and commands have no colours.
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
    // The rest of a text that was redacted before is not a secret.
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
    // Repeated, because a removed secret may expose another one right behind it.
    let redacted = once(json, mode)
    for (let round = 1, before = json; redacted !== before && round < MAX_ROUNDS; round++) {
      before = redacted
      redacted = once(redacted, mode)
    }
    return redacted
  }
}
