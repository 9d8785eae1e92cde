/** Builds expressions of a grammar. */
import { charge } from './budget.ts'
import type { Expression, Range } from './grammar.ts'

export { GrammarError } from './grammar-error.ts'

export const MAX_CODE_POINT = 0x10ffff

/** By both ends. Each is built once. */
const runs: Expression[] = []

function bytes(from: number, to: number): Expression {
  return (runs[from * 256 + to] ??= { kind: 'bytes', set: new Uint8Array(256).fill(1, from, to + 1) })
}

export const sequence = (...parts: readonly Expression[]): Expression => inOrder(parts)

/** Takes lists of any length, which would exceed the limit of call arguments. */
export function inOrder(parts: readonly Expression[]): Expression {
  const flat = parts.flatMap(part => (part.kind === 'sequence' ? part.parts : [part]))
  charge('nodes', 1 + flat.length)
  return flat.length === 1 && flat[0] ? flat[0] : { kind: 'sequence', parts: flat }
}

/** The empty text. */
const NOTHING: Expression = { kind: 'sequence', parts: [] }
/** No text at all. */
export const NEVER: Expression = { kind: 'choice', options: [] }

export function choice(options: readonly Expression[]): Expression {
  const flat = options.flatMap(option => (option.kind === 'choice' ? option.options : [option]))
  charge('nodes', 1 + flat.length)
  const sets = flat.flatMap(option => (option.kind === 'bytes' ? [option.set] : []))
  const others = flat.filter(({ kind }) => kind !== 'bytes')
  const all: Expression[] =
    sets.length === 0
      ? others
      : [
          { kind: 'bytes', set: Uint8Array.from({ length: 256 }, (_, b) => +sets.some(set => set[b])) },
          ...others,
        ]
  return all.length === 1 && all[0] ? all[0] : { kind: 'choice', options: all }
}

export const repeat = (of: Expression, min: number, max: number): Expression =>
  max === 0 ? NOTHING : min === 1 && max === 1 ? of : { kind: 'repeat', of, min, max }

export const optional = (of: Expression): Expression => repeat(of, 0, 1)

export const rule = (name: string): Expression => ({ kind: 'rule', name })

export const literal = (text: string): Expression =>
  inOrder(Array.from(new TextEncoder().encode(text), byte => bytes(byte, byte)))

/** Sequences of byte ranges for code points of one UTF-8 length. */
function encodeRange(from: number, to: number): Expression[] {
  for (const limit of [0x7f, 0x7ff, 0xffff])
    if (from <= limit && limit < to) return [...encodeRange(from, limit), ...encodeRange(limit + 1, to)]
  if (to < 0x80) return [bytes(from, to)]
  for (const bits of [6, 12, 18]) {
    const low = (1 << bits) - 1
    if ((from & ~low) === (to & ~low)) continue
    if ((from & low) !== 0) return [...encodeRange(from, from | low), ...encodeRange((from | low) + 1, to)]
    if ((to & low) !== low) return [...encodeRange(from, (to & ~low) - 1), ...encodeRange(to & ~low, to)]
  }
  const [first, last] = [from, to].map(code => new TextEncoder().encode(String.fromCodePoint(code)))
  return [sequence(...Array.from(first ?? [], (byte, i) => bytes(byte, last?.[i] ?? byte)))]
}

/** One character of any of these ranges. Surrogates are not characters. */
export const characters = (ranges: readonly Range[]): Expression =>
  choice(
    ranges
      .flatMap(([from, to]): Range[] => [
        [from, Math.min(to, 0xd7ff)],
        [Math.max(from, 0xe000), to],
      ])
      .filter(([from, to]) => from <= to)
      .flatMap(([from, to]) => encodeRange(from, to)),
  )

/** Sorts and merges ranges. */
function tidy(ranges: readonly Range[]): Range[] {
  const tidied: [number, number][] = []
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = tidied.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else tidied.push([from, to])
  }
  return tidied
}

/** Every character that is in none of the ranges. */
export function complement(ranges: readonly Range[]): Range[] {
  const left: Range[] = []
  let next = 0
  for (const [from, to] of tidy(ranges)) {
    if (next < from) left.push([next, from - 1])
    next = to + 1
  }
  return next > MAX_CODE_POINT ? left : [...left, [next, MAX_CODE_POINT]]
}
