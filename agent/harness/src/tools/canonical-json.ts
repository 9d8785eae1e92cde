/** RFC 8785 (JCS): one text per JSON value, so that equal arguments have equal hashes in any notation. */
import { MAX_DEPTH } from '@cairn/protocol'
import { createHash } from 'node:crypto'

/**
 * The canonical text of a JSON value. Throws for values that JSON cannot represent: NaN, infinities, lone
 * surrogates, functions, cycles.
 */
export function canonicalJson(value: unknown): string {
  return encode(value, [])
}

/** The key of an approval (contract 10): SHA-256 of the canonical arguments, hex. */
export const argumentsHash = (args: Record<string, unknown>): string =>
  createHash('sha256').update(canonicalJson(args), 'utf8').digest('hex')

/** The key of an approval for a tool whose definition may change: the definition and the arguments. */
export const definedCallHash = (definition_hash: string, args: Record<string, unknown>): string =>
  argumentsHash({ definition_hash, arguments_hash: argumentsHash(args) })

function encode(value: unknown, above: readonly object[]): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return encodeString(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`[canonicalJson] ${value} is not a JSON number`)
    // The RFC prescribes ECMAScript's number format.
    return JSON.stringify(value)
  }
  if (typeof value !== 'object') throw new TypeError(`[canonicalJson] a ${typeof value} is not JSON`)
  if (above.length >= MAX_DEPTH)
    throw new TypeError(`[canonicalJson] the value is nested deeper than ${MAX_DEPTH} levels`)
  if (above.includes(value)) throw new TypeError('[canonicalJson] the value contains itself')
  const path = [...above, value]
  if (Array.isArray(value)) return `[${value.map(item => encode(item, path)).join(',')}]`
  // Array.prototype.sort compares UTF-16 code units, as the RFC requires. An undefined member counts as
  // absent, as in JSON.stringify.
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${encodeString(key)}:${encode(member, path)}`).join(',')}}`
}

function encodeString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('[canonicalJson] the text holds half of a surrogate pair')
  return JSON.stringify(text)
}
