/** Seeded randomness for order and generated data. One key gives the same numbers on every machine. */

export type Random = {
  /** A number in [0, 1). */
  next: () => number
  /** A whole number from 0 to n - 1. */
  below: (n: number) => number
  /** A whole number from low to high, inclusive. */
  between: (low: number, high: number) => number
  pick: <T>(items: readonly T[]) => T
  /** A new array in random order. */
  shuffle: <T>(items: readonly T[]) => T[]
}

/** One step of splitmix32: spreads nearby seeds apart. */
function mix(value: number): number {
  let z = (value + 0x9e3779b9) | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return (z ^ (z >>> 15)) >>> 0
}

/** A separate stream for each key, such as (seed, epoch), from sfc32. */
export function createRandom(...key: readonly number[]): Random {
  let seed = 0
  for (const part of key) seed = mix(mix(seed ^ (part >>> 0)) ^ Math.floor(part / 2 ** 32))
  let [a, b, c, d] = [mix(seed), mix(seed ^ 1), mix(seed ^ 2), 1]
  const word = () => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  // The first words still resemble the seed.
  for (let i = 0; i < 12; i++) word()
  const next = () => word() / 2 ** 32
  const below = (n: number) => Math.floor(next() * n)
  return {
    next,
    below,
    between: (low, high) => low + below(high - low + 1),
    pick: items => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('[pick] nothing to pick from')
      return item
    },
    shuffle: items => {
      const shuffled = [...items]
      for (let i = shuffled.length - 1; i > 0; i--) {
        const j = below(i + 1)
        const other = shuffled[j]
        const own = shuffled[i]
        if (own === undefined || other === undefined) continue
        shuffled[i] = other
        shuffled[j] = own
      }
      return shuffled
    },
  }
}
