/** Python's `%` for strings. */
import { TemplateError } from '../errors.ts'
import { numberOf } from '../comparison.ts'
import type { Runtime } from '../values.ts'
import { charactersOf } from '../sequences.ts'
import { Dict, Markup, Tuple, Undefined, isText, textOf, typeName, type Value } from '../values.ts'
import { exponentText, fixedText, scientificParts } from './float.ts'
import { escapeHtml } from './html.ts'
import { asciiRepr, printed, repr } from './print.ts'
import { parseFloatText } from './parse-number.ts'

const DIRECTIVE =
  /%(?:\((?<key>[^)]*)\))?(?<flags>[-+ #0]*)(?<width>\*|\d*)(?:\.(?<precision>\*|\d*))?[hlL]?(?<type>[\s\S]?)/g

type Spec = { flags: string; width: number; precision: number | undefined; type: string }

/** `format % values`. */
export function formatPrintf(format: string | Markup, values: Value, runtime: Runtime): Value {
  const isMarkup = format instanceof Markup
  const queue = values instanceof Tuple ? [...values.items] : [values]
  let isMapped = false
  const take = (): Value => {
    const value = queue.shift()
    if (value === undefined) throw new TemplateError('not enough arguments for format string')
    return value
  }
  const text = textOf(format).replaceAll(DIRECTIVE, (...parts: unknown[]) => {
    const groups = parts.at(-1) as Record<string, string | undefined>
    const type = groups['type'] ?? ''
    if (type === '%') return '%'
    const key = groups['key']
    const size = (given: string | undefined) => {
      if (given === '*') return integer(take())
      return given === undefined || given === '' ? undefined : Number(given)
    }
    const width = size(groups['width']) ?? 0
    const precision = groups['precision'] === undefined ? undefined : (size(groups['precision']) ?? 0)
    const spec = { flags: groups['flags'] ?? '', width, precision, type }
    let value: Value
    if (key === undefined) value = take()
    else {
      isMapped = true
      value = mapped(values, key)
    }
    runtime.budget.text(width + (precision ?? 0))
    const made = directive(value, isMarkup && isText(value) ? { ...spec, type } : spec)
    return isMarkup ? escapeHtml(value instanceof Markup ? new Markup(made) : made) : made
  })
  if (queue.length > 0 && !isMapped && !(values instanceof Dict) && !Array.isArray(values))
    throw new TemplateError('not all arguments converted during string formatting')
  runtime.budget.text(text.length)
  return isMarkup ? new Markup(text) : text
}

function mapped(values: Value, key: string): Value {
  if (!(values instanceof Dict)) throw new TemplateError('format requires a mapping')
  const value = values.get(key)
  if (value === undefined) throw new TemplateError(`'${key}'`)
  return value
}

function integer(value: Value): number {
  if (typeof value === 'bigint') return Number(value)
  throw new TemplateError('* wants int')
}

function directive(value: Value, { flags, width, precision, type }: Spec): string {
  const pad = (text: string) => {
    const missing = width - charactersOf(text).length
    if (missing <= 0) return text
    return flags.includes('-') ? text + ' '.repeat(missing) : ' '.repeat(missing) + text
  }
  const cut = (text: string) =>
    pad(precision === undefined ? text : charactersOf(text).slice(0, precision).join(''))
  const number = (sign: string, prefix: string, digits: string) => {
    const missing = width - sign.length - prefix.length - digits.length
    return flags.includes('0') && !flags.includes('-') && missing > 0
      ? sign + prefix + '0'.repeat(missing) + digits
      : pad(sign + prefix + digits)
  }
  const signOf = (isNegative: boolean) =>
    isNegative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''
  switch (type) {
    case 's':
      return cut(printed(value))
    case 'r':
      return cut(repr(value))
    case 'a':
      return cut(asciiRepr(value))
    case 'c':
      return pad(characterOf(value))
    case 'd':
    case 'i':
    case 'u': {
      const whole = truncated(value, type)
      const digits = String(whole < 0n ? -whole : whole).padStart(precision ?? 0, '0')
      return number(signOf(whole < 0n), '', digits)
    }
    case 'x':
    case 'X':
    case 'o': {
      if (typeof value !== 'bigint' && typeof value !== 'boolean')
        throw new TemplateError(`%${type} format: an integer is required, not ${typeName(value)}`)
      const whole = BigInt(value)
      const digits = (whole < 0n ? -whole : whole)
        .toString(type === 'o' ? 8 : 16)
        .padStart(precision ?? 0, '0')
      const prefix = flags.includes('#') ? `0${type}` : ''
      return number(signOf(whole < 0n), prefix, type === 'X' ? digits.toUpperCase() : digits)
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': {
      const real = realOf(value)
      const digits = floatDigits(Math.abs(real), type, precision ?? 6, flags.includes('#'))
      const isFinite = Number.isFinite(real)
      const sign = signOf(real < 0 || Object.is(real, -0))
      return isFinite ? number(sign, '', digits) : pad(sign + digits)
    }
    default:
      throw new TemplateError(
        type === '' ? 'incomplete format' : `unsupported format character '${type}' in a format string`,
      )
  }
}

function characterOf(value: Value): string {
  if (typeof value === 'bigint') return String.fromCodePoint(Number(value))
  if (isText(value) && charactersOf(textOf(value)).length === 1) return textOf(value)
  throw new TemplateError('%c requires int or char')
}

function truncated(value: Value, type: string): bigint {
  const number = numberOf(value)
  if (typeof number === 'bigint') return number
  if (number !== undefined && Number.isFinite(number)) return BigInt(Math.trunc(number))
  if (value instanceof Undefined) return value.fail()
  throw new TemplateError(`%${type} format: a real number is required, not ${typeName(value)}`)
}

function realOf(value: Value): number {
  const number = numberOf(value)
  if (number !== undefined) return Number(number)
  if (value instanceof Undefined) return value.fail()
  const parsed = isText(value) ? parseFloatText(textOf(value)) : undefined
  if (parsed === undefined || isText(value))
    throw new TemplateError(`must be real number, not ${typeName(value)}`)
  return parsed
}

/** The digits of a number that is not negative, in one of the formats `e`, `f` and `g`. */
export function floatDigits(value: number, type: string, precision: number, keepsZeros: boolean): string {
  const text = lowerFloatDigits(value, type.toLowerCase(), precision, keepsZeros)
  return type === type.toUpperCase() ? text.toUpperCase() : text
}

function lowerFloatDigits(value: number, type: string, precision: number, keepsZeros: boolean): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : 'inf'
  const point = keepsZeros ? '.' : ''
  if (type === 'f') return fixedText(value, precision) + (precision === 0 ? point : '')
  if (type === 'e') {
    const { digits, exponent } = scientificParts(value, precision)
    const rest = digits.slice(1)
    return `${digits[0]}${rest === '' ? point : `.${rest}`}e${exponentText(exponent)}`
  }
  const places = Math.max(precision, 1)
  const { digits, exponent } = scientificParts(value, places - 1)
  const trim = (text: string) => (keepsZeros || !text.includes('.') ? text : text.replace(/\.?0+$/, ''))
  if (exponent < -4 || exponent >= places) {
    const rest = digits.slice(1)
    const mantissa = trim(rest === '' ? `${digits[0]}${point}` : `${digits[0]}.${rest}`)
    return `${mantissa}e${exponentText(exponent)}`
  }
  const behind = places - 1 - exponent
  return trim(fixedText(value, behind) + (behind === 0 ? point : ''))
}
