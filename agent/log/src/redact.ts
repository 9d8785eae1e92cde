/**
 * Secrets reach no event (contract 2, 11). One cheap look at the whole JSON text decides whether
 * anything could be in it; only then are its string literals decoded, redacted as the plain text they mean,
 * and encoded again. So the result is JSON whatever the secret looks like, and a secret after an escaped
 * newline is found like any other.
 */

export const REDACTED = '[REDACTED]'

/** Shorter ones would blank ordinary words, and no credential is that short. */
const SHORTEST_KNOWN = 6

// A secret may follow anything but a character of its own alphabet, or an escape such as \n of a JSON text
// within the text.
export const START = String.raw`(?<![A-Za-z0-9_-](?<!\\[nrtbf]))`
const SHAPES = [
  String.raw`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`,
  `${START}cairn_sk_[A-Za-z0-9_-]{16,}`,
  `${START}sk-[A-Za-z0-9_-]{16,}`,
  `${START}[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
  `${START}gh[pousr]_[A-Za-z0-9]{20,}`,
  `${START}github_pat_[A-Za-z0-9_]{20,}`,
  `${START}glpat-[A-Za-z0-9_-]{16,}`,
  `${START}xox[a-z]-[A-Za-z0-9-]{10,}`,
  `${START}A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])`,
  `${START}AIza[A-Za-z0-9_-]{35}`,
  `${START}hf_[A-Za-z0-9]{30,}`,
  String.raw`${START}eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`,
]
const SECRET = new RegExp(SHAPES.join('|'), 'g')
// The scheme stays, so that a reader still sees what kind of header it was.
const BEARER = /\b(bearer\s+)[A-Za-z0-9._~+/-]{12,}=*/gi
const SUSPECT =
  /PRIVATE KEY-----|sk-|k_live_|k_test_|cairn_sk_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|A[KS]IA|AIza|hf_|eyJ|[Bb]earer\s|BEARER\s/

/**
 * An image: nothing but base64, and more of it than any key has. Chance finds every short pattern somewhere
 * in a megabyte.
 */
const BASE64 = /^[A-Za-z0-9+/\s]{4096,}={0,2}$/

const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
/** As a text looks inside a JSON string. */
export const encodeInJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * Applies `change` to each string literal of a JSON text. By hand: a regular expression runs out of stack on
 * a megabyte of escapes.
 */
function mapLiterals(json: string, change: (literal: string) => string): string {
  let mapped = ''
  let from = 0
  for (let open = json.indexOf('"'); open !== -1; open = json.indexOf('"', from)) {
    let close = json.indexOf('"', open + 1)
    while (isEscaped(json, close)) close = json.indexOf('"', close + 1)
    mapped += json.slice(from, open) + change(json.slice(open, close + 1))
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

/**
 * `known` are credentials of this deployment, removed wherever they stand. Takes JSON text and gives JSON
 * text.
 */
export function createRedactor(known: readonly string[] = []): (json: string) => string {
  const values = [...new Set(known)]
    .filter(value => value.length >= SHORTEST_KNOWN)
    .toSorted((a, b) => b.length - a.length)
  // Each also as it looks inside JSON that is quoted in a string, as tool results are.
  const forms = [...new Set(values.flatMap(value => [value, encodeInJson(value)]))]
  const exact = forms.length === 0 ? null : new RegExp(forms.map(escapeRegExp).join('|'), 'g')
  const inJson =
    forms.length === 0 ? null : new RegExp(forms.map(form => escapeRegExp(encodeInJson(form))).join('|'))

  function redactText(text: string): string {
    const withoutKnown = exact === null ? text : text.replace(exact, REDACTED)
    if (BASE64.test(withoutKnown)) return withoutKnown
    return withoutKnown.replace(SECRET, REDACTED).replace(BEARER, `$1${REDACTED}`)
  }

  function redactLiteral(literal: string): string {
    const text = JSON.parse(literal) as string
    const redacted = redactText(text)
    return redacted === text ? literal : JSON.stringify(redacted)
  }

  return json => (SUSPECT.test(json) || inJson?.test(json) === true ? mapLiterals(json, redactLiteral) : json)
}
