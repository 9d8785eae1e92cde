/**
 * Philox4x32-10: a random number as a pure function of its position, with the same bits on every backend and
 * for any number of threads.
 */

export type Words4 = readonly [number, number, number, number]
export type Words2 = readonly [number, number]

const rounds = 10
const multipliers = [0xd2511f53, 0xcd9e8d57] as const
const weyl = [0x9e3779b9, 0xbb67ae85] as const

/**
 * The high word of a product of two words, computed by halves: every intermediate is exact in a double, and
 * tensors need millions of them. The low word is `Math.imul(a, b) >>> 0`.
 */
function highOf(a: number, b: number): number {
  const [aHigh, aLow, bHigh, bLow] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff]
  const middle = aHigh * bLow + aLow * bHigh + ((aLow * bLow) >>> 16)
  return (aHigh * bHigh + Math.floor(middle / 2 ** 16)) >>> 0
}

/** Four random words for a counter and a key. */
export function philox(counter: Words4, key: Words2): Words4 {
  let [c0, c1, c2, c3] = counter
  let [k0, k1] = key
  for (let round = 0; round < rounds; round++) {
    const high0 = highOf(multipliers[0], c0)
    const high1 = highOf(multipliers[1], c2)
    const low0 = Math.imul(multipliers[0], c0) >>> 0
    const low1 = Math.imul(multipliers[1], c2) >>> 0
    c0 = (high1 ^ c1 ^ k0) >>> 0
    c1 = low1
    c2 = (high0 ^ c3 ^ k1) >>> 0
    c3 = low0
    k0 = (k0 + weyl[0]) >>> 0
    k1 = (k1 + weyl[1]) >>> 0
  }
  return [c0, c1, c2, c3]
}

/** The key of a stream of random numbers. */
export type Stream = { seed: number; step: number; op: number }

/** A number in [0, 1) with 24 bits for one element of one op of one step. */
export function uniform({ seed, step, op }: Stream, element: number): number {
  const group = Math.floor(element / 4)
  const words = philox(
    [group >>> 0, Math.floor(group / 2 ** 32), op, step],
    [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0],
  )
  return ((words[element % 4] ?? 0) >>> 8) * 2 ** -24
}
