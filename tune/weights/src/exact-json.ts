/**
 * JSON whose numbers keep their text. Templates print numbers like Python: `1.0` and `1e-07`, which
 * JavaScript would print as `1` and `1e-7`, giving other tokens than the model was trained on.
 */

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
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  const [mantissa = '0', power = '0'] = value.toExponential().split('e')
  const exponent = Number(power)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < -4 || exponent >= 16) {
    const rest = digits.slice(1)
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${digits[0]}${rest === '' ? '' : `.${rest}`}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
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
