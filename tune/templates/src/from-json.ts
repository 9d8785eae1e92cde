/** Values of JSON as values of a template. */
import { ExactNumber } from './exact-json.ts'
import { Dict, type Value } from './values.ts'

/** The value, and how many characters it has, which bound the work of a template. */
export function fromJson(value: unknown): { value: Value; characters: number } {
  const count = { characters: 0 }
  return { value: convert(value, count), characters: count.characters }
}

function convert(value: unknown, count: { characters: number }): Value {
  count.characters++
  switch (typeof value) {
    case 'string':
      count.characters += value.length
      return value
    case 'boolean':
    case 'bigint':
      return value
    case 'number':
      // JSON text with an exponent is a float. JavaScript prints whole numbers from 1e21 that way.
      return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value
    case 'undefined':
      return null
    default:
  }
  if (value === null) return null
  if (value instanceof ExactNumber)
    return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text)
  if (Array.isArray(value)) return value.map(one => convert(one, count))
  if (typeof value !== 'object') throw new TypeError(`a template cannot take a ${typeof value}`)
  const dict = new Dict()
  for (const [key, one] of Object.entries(value)) {
    count.characters += key.length
    if (one !== undefined) dict.set(key, convert(one, count))
  }
  return dict
}
