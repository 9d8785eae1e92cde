/**
 * How deep a value from outside may nest. JSON.parse accepts any depth, but code that walks the value later,
 * above all JSON.stringify, recurses and would exhaust the stack. So depth is checked once, where the value
 * enters.
 */

/** As deep as the body of a request may be (contract 4.4). */
export const MAX_DEPTH = 64

/**
 * Whether objects and arrays lie in each other more than MAX_DEPTH times. Level by level, without recursion.
 */
export function nestsTooDeep(value: unknown): boolean {
  let level = [value].filter(isNested)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= MAX_DEPTH) return true
    level = level.flatMap(one => Object.values(one).filter(isNested))
  }
  return false
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null
