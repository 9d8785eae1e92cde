/**
 * JSON whose numbers keep their text. Templates print numbers like Python: `1.0` and `1e-07`, which
 * JavaScript would print as `1` and `1e-7`, giving other tokens than the model was trained on.
 */
import { floatText } from './text/float.ts'

/** A number that Python and JavaScript print differently. `text` is Python's form. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): { exact: string } {
    return { exact: this.text }
  }
}

/** A number in the form of Python's `repr` and `json.dumps`, from its JSON text. */
export function pythonNumber(source: string): string {
  // Python's integers are unbounded.
  if (/^-?\d+$/.test(source)) return BigInt(source).toString()
  const value = Number(source)
  return Number.isFinite(value) ? floatText(value) : value > 0 ? 'Infinity' : '-Infinity'
}

/** Numbers that may be printed differently: a fraction, an exponent, or more digits than a double holds. */
const UNUSUAL = /\d[.eE]|\d{16}/

/** JSON.parse, with an ExactNumber where the two languages differ. */
export function parseExact(text: string): unknown {
  if (!UNUSUAL.test(text)) return JSON.parse(text)
  return JSON.parse(text, ((_key: string, value: unknown, { source }: { source?: string } = {}) => {
    if (typeof value !== 'number' || source === undefined) return value
    const exact = pythonNumber(source)
    return exact === JSON.stringify(value) ? value : new ExactNumber(exact)
  }) as (key: string, value: unknown) => unknown)
}

/** JSON whose numbers are written as an ExactNumber has them, which parseExact reads back. */
export function exactJson(value: unknown, indent = 0): string {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }
  const exact = function exact(this: Record<string, unknown>, key: string, converted: unknown) {
    const own = this[key]
    if (!(own instanceof ExactNumber)) return converted
    // JSON has no infinity, but numbers that are as large.
    return rawJSON(own.text.replace('Infinity', '1e999'))
  }
  return JSON.stringify(value, exact, indent)
}
