/** Converts tool schemas, whose numbers keep their original text, to schemas with ordinary numbers. */
import { ExactNumber } from '@cairn-tune/weights'

declare global {
  interface JSON {
    /** A number that JSON.stringify writes as this text. */
    rawJSON(text: string): { readonly rawJSON: string }
    isRawJSON(value: unknown): boolean
  }
}

/** A whole number beyond the exact range keeps its digits. */
function numberOf({ text }: ExactNumber): unknown {
  const value = Number(text)
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? JSON.rawJSON(text) : value
}

export function plainSchema(value: unknown, isConstant = false): unknown {
  if (value instanceof ExactNumber) return isConstant ? numberOf(value) : Number(value.text)
  if (Array.isArray(value)) return value.map(one => plainSchema(one, isConstant))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      plainSchema(one, isConstant || key === 'enum' || key === 'const'),
    ]),
  )
}
