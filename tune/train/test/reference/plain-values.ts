/** Values of a row in the form in which make_data_formats.py records them. */
import { ExactNumber } from '@cairn-tune/weights'

/** Floats are marked, and absent values are left out. */
export function plainValue(value: unknown): unknown {
  if (value instanceof ExactNumber)
    return /^-?\d+$/.test(value.text) ? Number(value.text) : { float: value.text }
  if (typeof value === 'number' && !Number.isInteger(value)) return { float: String(value) }
  if (Array.isArray(value)) return value.map(plainValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [[key, plainValue(one)]])),
  )
}
