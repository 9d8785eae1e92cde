/**
 * Secrets that are only recognisable by the text before them: the scheme of a header, the user in a URL, a
 * member of a JSON Web Key, a name such as `password`. The text before them is kept.
 *
 * In arguments of a call, a rule removes characters of `SAFE` only: none that a shell interprets.
 */
import { COMMAND_CONTEXTS, COMMAND_RUNS, isSecretElement } from './in-commands.ts'
import { prefixesOf } from './prefixed-tokens.ts'
import type { RunRule } from './runs.ts'
import { COMMON_WORD, hasLetterAndDigit, isPair, type Mode, PLACEHOLDER, type Rule, SAFE } from './values.ts'

// This rule matches `Authorization: Bearer …` and `Authorization: Basic …`.

/** Opaque tokens contain digits, or are longer than words. */
const BEARER = /\b(bearer[ \t]+)(?=\S*\d|\S{20})[A-Za-z0-9._~+/-]{12,}=*/gi
const BASIC = /\b(basic[ \t]+)([A-Za-z0-9+/]{6,}={0,2})(?![A-Za-z0-9+/=])/gi

const scheme: Rule = (text, mark) =>
  text
    .replace(BEARER, `$1${mark}`)
    .replace(BASIC, (all, word: string, pair: string) => (isPair(pair) ? word + mark : all))

// This rule matches `://user:password@host`.

const url = (password: string): RegExp =>
  new RegExp(String.raw`(:\/\/[^\s/:@"'<>\\]{0,200}:)(${password}{1,300})@`, 'g')
const URL_PASSWORD: Record<Mode, RegExp> = {
  text: url(String.raw`[^\s/"'<>\\]`),
  arguments: url('[A-Za-z0-9._~%+=,^@-]'),
}

const userinfo: Rule = (text, mark, mode) =>
  text.replace(URL_PASSWORD[mode], (all, before: string, password: string) =>
    PLACEHOLDER.test(password) ? all : `${before}${mark}@`,
  )

// This rule matches a JSON Web Key, `{"kty": …, "d": …}`.

const MEMBERS = '(?:d|p|q|dp|dq|qi|k)'
const JWK = new RegExp(
  String.raw`(\\{0,8}"${MEMBERS}\\{0,8}"\s{0,3}:\s{0,3}\\{0,8}")([A-Za-z0-9_-]{43,})(?=\\{0,8}")`,
  'g',
)
/** 32 random bytes or more in base64url have letters of both cases and a digit. A hex hash has one case. */
const isKeyMember = (value: string): boolean =>
  /^[A-Za-z0-9_-]{43,}$/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value)

const jwk: Rule = (text, mark) =>
  text.replace(JWK, (all, before: string, value: string) => (isKeyMember(value) ? before + mark : all))

// This rule matches `password=…`, `"api_key": "…"` and `DB_PASSWORD: …`.

const PASSWORD = 'pass(?:word|wd|phrase)|pwd'
/** `page_token` and the like are not secrets, and readers need them. */
const TOKEN_KIND = '(?:access|auth|refresh|bearer|session|secret|id|api|bot|login|link|oauth|deploy|security)'
const KEY_KINDS = ['api', 'access', 'account', 'private', 'secret', 'auth', 'signing', 'encryption', 'shared']
const NAME = [
  PASSWORD,
  'secret',
  '(?<![A-Za-z0-9_-])token',
  '(?-i:(?<=[A-Z]_)TOKEN)',
  `${TOKEN_KIND}[_-]?token`,
  `(?:${KEY_KINDS.join('|')})[_-]?key`,
].join('|')
const assignment = (value: string): RegExp =>
  new RegExp(
    `(${NAME})(\\\\{0,8}["']?\\s{0,3}(?:=>|:=|[:=])\\s{0,3}\\\\{0,8}["'\`]?)(${value}{6,512})(.?)`,
    'gi',
  )
const ASSIGNMENT: Record<Mode, RegExp> = {
  text: assignment('[^\\s"\'\\\\`<>(){}\\[\\],;&|$]'),
  arguments: assignment(SAFE),
}
const ASSIGNMENT_BEGINS = new RegExp(`(?:${NAME})\\\\{0,8}["']?\\s{0,3}[:=]`, 'i')

const PASSWORD_NAME = new RegExp(`^(?:${PASSWORD})$`, 'i')
const isPasswordName = (name: string): boolean => PASSWORD_NAME.test(name)
/** config.auth2.token, urn:ietf:params:oauth:token-type:x509 */
const isExpression = (value: string): boolean =>
  /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^(?:urn|https?):/.test(value)

/** Uint8Array, varchar255, sha256, MD5Password */
const CODE_KINDS =
  'u?int|float|bigu?int|varchar|char|string|text|utf|sha|md|base|argon|bcrypt|scrypt|pbkdf|aes'
const CODE_NAME = new RegExp(`^(?:${CODE_KINDS})\\w*$|^\\w*pass(?:word|wd|phrase)\\w*$`, 'i')

/**
 * True if the assigned value is a secret rather than code, a placeholder or a word. Unquoted and separated
 * from its sign it is most likely code, and must look random.
 */
function isSecretValue(name: string, glue: string, value: string, next: string): boolean {
  if (!hasLetterAndDigit(value) || isExpression(value) || PLACEHOLDER.test(value)) return false
  if (next === '(' || next === '[' || next === '{' || next === '$' || next === '<') return false
  const isQuoted = /["'`]$/.test(glue)
  const isTight = /^\\*["']?[:=]$/.test(glue)
  const [quotedMin, bareMin] = isPasswordName(name) ? [6, 8] : [16, 20]
  if (isQuoted || isTight) return value.length >= quotedMin
  return value.length >= bareMin && (isPasswordName(name) ? !CODE_NAME.test(value) : /\d.*\d/.test(value))
}

const assigned: Rule = (text, mark, mode) =>
  text.replace(ASSIGNMENT[mode], (all, name: string, glue: string, value: string, next: string) =>
    isSecretValue(name, glue, value, next) ? `${name}${glue}${mark}${next}` : all,
  )

// This rule matches `<password>…</password>`.

const elementOf = (value: string): RegExp =>
  new RegExp(`(<[\\w.:-]{0,60}(?:${NAME})>)(${value}{6,512})(?=<\\/)`, 'gi')
const ELEMENT: Record<Mode, RegExp> = { text: elementOf('[^\\s<>"\'\\\\]'), arguments: elementOf(SAFE) }

const element: Rule = (text, mark, mode) =>
  text.replace(ELEMENT[mode], (all, tag: string, value: string) =>
    isSecretElement(value) ? tag + mark : all,
  )

// The following function judges members of the JSON itself.

const SECRET_KEY = new RegExp(`(?:${NAME})$`, 'i')
const MEMBER_KEY = new RegExp(`^${MEMBERS}$`)

/** True if the whole value of a member with that name is a secret. */
export function isSecretMember(key: string, value: string): boolean {
  if (MEMBER_KEY.test(key)) return isKeyMember(value)
  const name = SECRET_KEY.exec(key)?.[0]
  if (name === undefined || /\s/.test(value) || value.length > 512 || PLACEHOLDER.test(value)) return false
  return isPasswordName(name)
    ? value.length >= 6 && !COMMON_WORD.test(value)
    : value.length >= 16 && hasLetterAndDigit(value)
}

const ELEMENT_WORDS = ['assword', 'asswd', 'assphrase', 'ecret', 'oken', 'key', 'Key'].flatMap(word => [
  `${word}>`,
  `${word.toUpperCase()}>`,
])
/**
 * Cheap pre-filter for each rule: substrings, and for some a regular expression, without which the rule
 * cannot match.
 */
export const CONTEXTS = {
  scheme: { words: ['earer ', 'EARER ', 'earer\\t', 'asic ', 'ASIC ', 'asic\\t'], look: null, rule: scheme },
  url: { words: ['://'], look: /:\/\/[^\s/:@"\\]{0,200}:[^\s/"\\]{1,300}@/, rule: userinfo },
  jwk: {
    words: ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'].flatMap(member => [`"${member}"`, `"${member}\\`]),
    look: null,
    rule: jwk,
  },
  assigned: {
    words: [
      ...['assword', 'asswd', 'assphrase', 'ecret'].flatMap(word => [word, word.toUpperCase()]),
      'pwd',
      'Pwd',
      'PWD',
      ...['oken', 'OKEN'].flatMap(word => ['"', '\\', "'", '=', ':', ' '].map(end => word + end)),
      ...['api', 'access', 'account', 'private', 'auth', 'signing', 'encryption', 'shared'].flatMap(kind =>
        ['key', '_key', '-key', 'Key', '_KEY', 'KEY', '-Key'].flatMap(key =>
          key === key.toUpperCase() && key !== '-key'
            ? [kind.toUpperCase() + key]
            : [kind + key, kind.charAt(0).toUpperCase() + kind.slice(1) + key],
        ),
      ),
    ],
    look: ASSIGNMENT_BEGINS,
    rule: assigned,
  },
  element: {
    words: ELEMENT_WORDS,
    look: null,
    rule: element,
  },
  ...COMMAND_CONTEXTS,
} as const satisfies Record<string, { words: readonly string[]; look: RegExp | null; rule: Rule }>

// The rest matches incomplete secrets at the end of a streamed text.

const anyCase = (word: string): string =>
  [...word].reduceRight((rest, letter) => `[${letter}${letter.toUpperCase()}](?:${rest})?`, '')
const spellings = (word: string): string =>
  `${word}|${word.toUpperCase()}|${word.charAt(0).toUpperCase()}${word.slice(1)}`
const NAME_BEGINS = [
  ...['password', 'passwd', 'passphrase', 'pwd', 'secret', 'token'].map(anyCase),
  ...KEY_KINDS.map(anyCase),
  `(?:${KEY_KINDS.map(spellings).join('|')})[_-]?(?:${anyCase('key')})?`,
]
/** Start of a word, or of a word within a name: dbPassword, DB_PASSWORD. */
const WORD_START = '(?:(?<![A-Za-z0-9])|(?<=[a-z])(?=[A-Z]))'

/** At the end of a text: what may still become a secret, none longer than `MAX_PARTIAL_CHARS`. */
export const PARTIAL_CONTEXT: readonly (readonly [source: string, flags: string])[] = [
  [String.raw`\b(?:${prefixesOf('bearer')}|${prefixesOf('basic')})$`, 'i'],
  [String.raw`:(?:\/(?:\/[^\s/"'<>\\]{0,500})?)?$`, ''],
  [String.raw`\\{0,8}"(?:[dpqk]|d[pq]|qi)?(?:\\{0,8}"\s{0,3}(?::\s{0,3}(?:\\{0,8}"?)?)?|\\{0,8})$`, ''],
  [`${WORD_START}(?:${NAME_BEGINS.join('|')})$`, ''],
  [
    `(?:${NAME})\\\\{0,8}["']?\\s{0,3}` +
      `(?:(?:=>|:=|[:=])\\s{0,3}\\\\{0,8}(?:["'\`]?[^\\s"'\\\\\`<>(){}\\[\\],;&|$]{0,512})?)?$`,
    'i',
  ],
]
export const MAX_PARTIAL_CHARS = 640

const schemeRuns = (word: string, first: string, body: string): RunRule[] => [
  { head: String.raw`\b${word}[ \t]`, body: String.raw`[ \t]`, flags: 'i', max: word.length + 1 },
  // The character comes first: a lookbehind at each of many spaces would scan all the spaces before it.
  { head: String.raw`${first}(?<=\b${word}[ \t]+.)`, body, flags: 'i', max: 1 },
]
export const CONTEXT_RUNS: readonly RunRule[] = [
  ...schemeRuns('bearer', '[A-Za-z0-9._~+/-]', '[A-Za-z0-9._~+/=-]'),
  ...schemeRuns('basic', '[A-Za-z0-9+/]', '[A-Za-z0-9+/=]'),
  {
    head: String.raw`\\{0,8}"${MEMBERS}\\{0,8}"\s{0,3}:\s{0,3}\\{0,8}"`,
    body: '[A-Za-z0-9_-]',
    max: 36,
  },
  {
    head: String.raw`<[\w.:-]{0,60}(?:${NAME})>`,
    body: String.raw`[^\s"'\\]`,
    flags: 'i',
    max: 90,
  },
  ...COMMAND_RUNS,
]
