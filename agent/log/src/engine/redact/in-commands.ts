/**
 * Secrets in command lines, headers, signed URLs and credential files: `curl -u`, `mysql -p`, `sshpass -p`,
 * `Cookie:`, netrc, .pgpass, registry logins. The text before them is kept.
 */
import { prefixesOf } from './prefixed-tokens.ts'
import type { RunRule } from './runs.ts'
import { COMMON_WORD, hasLetterAndDigit, isPair, type Mode, PLACEHOLDER, type Rule, SAFE } from './values.ts'

/** A value that a shell treats as one word. */
const WORD: Record<Mode, string> = { text: '[^\\s"\'`<>$\\\\|;&()]', arguments: SAFE }
const isPlaceholder = (value: string): boolean => PLACEHOLDER.test(value) || /^[A-Z_]+$|^[.*:]+$/.test(value)

/**
 * Not preceded by a letter or digit, unless that ends an escape such as \n of a JSON text within the text.
 */
const APART = String.raw`(?<![A-Za-z0-9](?<!\\[nrtbf]))`
const QUOTE = String.raw`\\{0,8}["']?`
const SPACE = String.raw`(?:\s|\\{1,8}[nrt]){1,20}`

/** The first group is kept, and the second is the secret. */
function behind(
  patternOf: (word: string) => string,
  isSecret: (value: string) => boolean = value => !isPlaceholder(value),
): Rule {
  const patterns: Record<Mode, RegExp> = {
    text: new RegExp(patternOf(WORD.text), 'gi'),
    arguments: new RegExp(patternOf(WORD.arguments), 'gi'),
  }
  return (text, mark, mode) =>
    text.replace(patterns[mode], (all, before: string, value: string) =>
      isSecret(value) ? before + mark : all,
    )
}

// This rule matches `curl -u ada:…`, `mysql -p…` and `sshpass -p …`.

const COMMAND_NAMES = ['curl', 'mysql', 'mariadb', 'sshpass']
/** A command up to the end of its line, matched once: rescanning from each name would be expensive. */
const lineOf = (names: string): RegExp =>
  new RegExp(String.raw`${APART}(?:${names})\b(?:[^\n\r|;&\\]|\\(?![nr]))*`, 'gi')
const inLine =
  (line: RegExp, rule: Rule): Rule =>
  (text, mark, mode) =>
    text.replace(line, found => rule(found, mark, mode))
const COMMANDS = [
  inLine(
    lineOf('curl'),
    behind(
      word => String.raw`(\s(?:-u|--user|--proxy-user)[ =]?${QUOTE}[^\s:"'$\\|;&]{1,64}:)(${word}{4,128})`,
    ),
  ),
  inLine(
    lineOf('(?:mysql|mariadb)[a-z]{0,8}'),
    behind(word => String.raw`(\s-p${QUOTE})(${word}{4,128})`),
  ),
  inLine(
    lineOf('sshpass'),
    behind(word => String.raw`(\s-p\s{0,3}${QUOTE})(${word}{4,128})`),
  ),
]
const command: Rule = (text, mark, mode) => COMMANDS.reduce((left, rule) => rule(left, mark, mode), text)

// This rule matches the headers `Cookie: …` and `Set-Cookie: …`.

/** Names and values separated by semicolons: text after a space is not a cookie. */
const COOKIE_ITEM = String.raw`[^\s;,=:/?"'\\<>]{1,128}(?:=[^\s;,"'\\<>]{0,2048})?`
const COOKIE = new RegExp(
  String.raw`(${APART}(?:set-)?cookie${QUOTE}\s{0,3}:\s{0,3}${QUOTE})` +
    String.raw`(${COOKIE_ITEM}(?:;\s{0,3}${COOKIE_ITEM})*)`,
  'gi',
)
const pairOf = (value: string): RegExp =>
  new RegExp(`((?:^|[;\\s])([^\\s=;]{1,128})=)(${value}{12,2048})`, 'g')
const PAIR: Record<Mode, RegExp> = { text: pairOf('[^\\s;,"\'\\\\[\\]]'), arguments: pairOf(SAFE) }
const ATTRIBUTE = /^(?:domain|path|expires|max-age|samesite)$/i

/** Removes the values of a cookie header and keeps the names. */
export const withoutCookies: Rule = (pairs, mark, mode) =>
  pairs.replace(PAIR[mode], (all, before: string, name: string, value: string) =>
    !ATTRIBUTE.test(name) && (hasLetterAndDigit(value) || value.length >= 24) ? before + mark : all,
  )
const cookie: Rule = (text, mark, mode) =>
  text.replace(COOKIE, (_, name: string, pairs: string) => name + withoutCookies(pairs, mark, mode))

// These rules match the contents of credential files.

const netrc = behind(
  word => String.raw`(${APART}login${SPACE}[^\s"'\\]{1,100}${SPACE}password${SPACE})(${word}{4,128})`,
)
/** host:port:database:user:password */
const pgpass = behind(word => String.raw`(:(?:5432|6432):[^:\s"'\\]{1,64}:[^:\s"'\\]{1,64}:)(${word}{4,128})`)
/** Registry logins of docker and npm. */
const registry = behind(
  () =>
    String.raw`(["'_]auth${QUOTE}\s{0,3}[:=]\s{0,3}${QUOTE})([A-Za-z0-9+/]{8,256}={0,2})(?![A-Za-z0-9+/=])`,
  isPair,
)

// These rules match signed URLs, and tokens without a prefix.

/** Anyone with such a URL has access to its target. */
const SIGNED = String.raw`[?&](?:sig|X-Amz-Signature|X-Goog-Signature)=`
const SIGNATURE = '[A-Za-z0-9%+/=_-]'
const signature = behind(() => `(${SIGNED})(${SIGNATURE}{20,})`)
/** Its only fixed part is near its end, so it is not detected in a streamed text. */
const azureDevOps = behind(() => `${APART}()([A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])`)

/** Judges the content of an element whose name indicates a secret. */
export const isSecretElement = (value: string): boolean =>
  !isPlaceholder(value) && !COMMON_WORD.test(value) && (value.length < 16 || hasLetterAndDigit(value))

export const COMMAND_CONTEXTS = {
  command: { words: COMMAND_NAMES, look: null, rule: command },
  cookie: { words: ['ookie', 'OOKIE'], look: /cookie[\\"']{0,9}\s{0,3}:/i, rule: cookie },
  netrc: { words: ['login'], look: /login(?:\s|\\+[nrt])[^]{1,160}?password/i, rule: netrc },
  pgpass: { words: [':5432:', ':6432:'], look: null, rule: pgpass },
  registry: {
    words: ['_auth', '"auth', "'auth"],
    look: /["'_]auth[\\"']{0,9}\s{0,3}[:=]/i,
    rule: registry,
  },
  signature: { words: ['?sig=', '&sig=', '-Signature='], look: null, rule: signature },
  azureDevOps: { words: ['AZDO'], look: null, rule: azureDevOps },
} as const satisfies Record<string, { words: readonly string[]; look: RegExp | null; rule: Rule }>

// The rest matches incomplete secrets at the end of a streamed text.

type Source = readonly [source: string, flags: string]
const anyOf = (words: readonly string[], then: string): string =>
  words.map(word => prefixesOf(word, then)).join('|')

/** The fixed beginnings, none longer than `MAX_SHORT_CHARS`; what follows is tracked as a run. */
const GLUE = String.raw`${QUOTE}\s{0,3}`
export const PARTIAL_COMMAND: Source = [
  [
    `${APART}(?:${anyOf([...COMMAND_NAMES, 'set-cookie', 'login'], '')})`,
    APART + prefixesOf('cookie', `${GLUE}(?::${GLUE})?`),
    `:(?:${anyOf(['5432:', '6432:'], '')})`,
    `["'_](?:${prefixesOf('auth', `${GLUE}(?:[:=]${GLUE})?`)})?`,
    `[?&](?:${anyOf(['sig=', 'X-Amz-Signature=', 'X-Goog-Signature='], '')})?`,
    String.raw`<[\w.:-]{0,80}`,
  ]
    .map(source => `(?:${source})$`)
    .join('|'),
  'i',
]
export const MAX_SHORT_CHARS = 88
export const COMMAND_RUNS: readonly RunRule[] = [
  { head: `${APART}(?:${COMMAND_NAMES.join('|')})`, body: String.raw`[^\n\r|;&]`, flags: 'i', max: 7 },
  // Within one line: a text that mentions a login must not be held back for what may follow.
  { head: String.raw`${APART}login(?:\s|\\)`, body: String.raw`[^\n\r"']`, flags: 'i', max: 6 },
  {
    head: String.raw`${APART}(?:set-)?cookie${QUOTE}\s{0,3}:\s{0,3}${QUOTE}`,
    body: String.raw`[^\r\n]`,
    flags: 'i',
    max: 36,
  },
  { head: ':(?:5432|6432):', body: String.raw`[^\s"'\\]`, max: 6 },
  {
    head: String.raw`["'_]auth${QUOTE}\s{0,3}[:=]\s{0,3}${QUOTE}`,
    body: String.raw`[^\s,;{}]`,
    flags: 'i',
    max: 30,
  },
  { head: SIGNED, body: '[A-Za-z0-9%+/=_?&-]', flags: 'i', max: 18 },
]
