/**
 * Secrets that arrive in pieces (contract 2, 11). The redactor sees one event at a time, so whoever
 * writes a text piece by piece must not part what it would take out: here it learns how much of the text may
 * go, and what could yet become a secret.
 */
import { encodeInJson, START } from './redact.ts'

/**
 * The shapes of redact.ts as far as they can have arrived: the letters a secret begins with, each optional
 * after the one before it, and then its body.
 */
const BEGINNINGS: readonly (readonly [letters: readonly string[], body: string])[] = [
  [[...'cairn_sk_'], '[A-Za-z0-9_-]*'],
  [[...'sk-'], '[A-Za-z0-9_-]*'],
  [['[rs]', ...'k_', '[lt]', '[ie]', '[vs]', '[et]', '_'], '[A-Za-z0-9]*'],
  [['g', 'h', '[pousr]', '_'], '[A-Za-z0-9]*'],
  [[...'github_pat_'], '[A-Za-z0-9_]*'],
  [[...'glpat-'], '[A-Za-z0-9_-]*'],
  [['x', 'o', 'x', '[a-z]', '-'], '[A-Za-z0-9-]*'],
  [['A', '[KS]', 'I', 'A'], '[A-Z0-9]*'],
  [[...'AIza'], '[A-Za-z0-9_-]*'],
  [[...'hf_'], '[A-Za-z0-9]*'],
  [[...'eyJ'], '[A-Za-z0-9_.-]*'],
]
const begun = ([letters, body]: (typeof BEGINNINGS)[number]): string =>
  letters.reduceRight((rest, letter) => `${letter}(?:${rest})?`, body)
const TOKEN = new RegExp(`${START}(?:${BEGINNINGS.map(begun).join('|')})$`)
const BEARER = /\bb(?:e(?:a(?:r(?:e(?:r(?:\s+(?:[A-Za-z0-9._~+/-]*=*)?)?)?)?)?)?)?$/i

const PEM = '-----BEGIN '
const PEM_HEAD = /^-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY-----|-{0,4}$)/
const PEM_END = /-----END [A-Z0-9 ]*PRIVATE KEY-----/g

/** Where a private key begins that has no end yet, or what may become one. */
function openKey(text: string): number {
  let closed = 0
  for (let at = text.indexOf(PEM); at !== -1; at = text.indexOf(PEM, Math.max(at + 1, closed))) {
    if (!PEM_HEAD.test(text.slice(at, at + 200))) continue
    PEM_END.lastIndex = at
    if (!PEM_END.test(text)) return at
    closed = PEM_END.lastIndex
  }
  // The dashes that end one key begin no other.
  return closed + beginningOf(PEM, text.slice(closed))
}

/** Where the longest end of the text begins that is the beginning of `value`, and not the whole of it. */
function beginningOf(value: string, text: string): number {
  for (let length = Math.min(value.length - 1, text.length); length > 0; length--)
    if (text.endsWith(value.slice(0, length))) return text.length - length
  return text.length
}

/**
 * Up to which index a text may be written: from there on it may be the beginning of a secret. `known` as for
 * `createRedactor`.
 */
export function createHoldBack(known: readonly string[] = []): (text: string) => number {
  const values = [...new Set(known.flatMap(value => [value, encodeInJson(value)]))]
  const begins = (text: string): number => {
    let end = Math.min(
      TOKEN.exec(text)?.index ?? text.length,
      BEARER.exec(text)?.index ?? text.length,
      openKey(text),
      ...values.map(value => beginningOf(value, text)),
    )
    // An escape of a JSON text within the text stays whole: without its backslash the letter would be taken
    // for one of the secret after it.
    while (text[end - 1] === '\\') end -= 1
    return end
  }
  return text => {
    // What one secret may begin with may be the end of another.
    let end = text.length
    for (let before = -1; before !== end;) {
      before = end
      end = begins(text.slice(0, end))
    }
    return end
  }
}
