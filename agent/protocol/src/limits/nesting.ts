/**
 * Limits the nesting of external values. JSON.parse accepts any depth, but code that walks the value later,
 * JSON.stringify above all, recurses and would overflow the stack. Depth is therefore checked once, where the
 * value enters.
 */

/** Maximum nesting of a request body (contract 4.4). */
export const MAX_DEPTH = 64

/** True if objects and arrays nest more than MAX_DEPTH levels. Works level by level, without recursion. */
export function nestsTooDeep(value: unknown): boolean {
  let level = [value].filter(isNested)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= MAX_DEPTH) return true
    level = level.flatMap(one => Object.values(one).filter(isNested))
  }
  return false
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null
