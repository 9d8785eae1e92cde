/** Python's format specifications: `format(value, '>10.2f')`. */
import { TemplateError } from '../errors.ts'
import { numberOf } from '../comparison.ts'
import { charactersOf } from '../sequences.ts'
import { isText, textOf, typeName, type Value } from '../values.ts'
import { floatText } from './float.ts'
import { integerText, printed } from './print.ts'
import { floatDigits } from './printf.ts'

const SPEC =
  /^(?:(?<fill>[\s\S])?(?<align>[<>=^]))?(?<sign>[-+ ])?(?<alternate>#)?(?<zero>0)?(?<width>\d+)?(?<grouping>[,_])?(?:\.(?<precision>\d+))?(?<type>[bcdeEfFgGnosxX%])?$/u

type Spec = {
  fill: string
  align: string | undefined
  sign: string
  isAlternate: boolean
  width: number
  grouping: string
  precision: number | undefined
  type: string
}

function parseSpec(spec: string): Spec {
  const groups = SPEC.exec(spec)?.groups
  if (!groups) throw new TemplateError(`Invalid format specifier '${spec}'`)
  const hasZero = groups['zero'] !== undefined
  return {
    fill: groups['fill'] ?? (hasZero ? '0' : ' '),
    align: groups['align'] ?? (hasZero ? '=' : undefined),
    sign: groups['sign'] ?? '-',
    isAlternate: groups['alternate'] !== undefined,
    width: Number(groups['width'] ?? 0),
    grouping: groups['grouping'] ?? '',
    precision: groups['precision'] === undefined ? undefined : Number(groups['precision']),
    type: groups['type'] ?? '',
  }
}

export function formatValue(value: Value, specText: string): string {
  if (specText === '') return printed(value)
  const spec = parseSpec(specText)
  if (isText(value)) return formatText(textOf(value), spec)
  const number = numberOf(value)
  if (number === undefined)
    throw new TemplateError(`unsupported format string passed to ${typeName(value)}.__format__`)
  const isFloat = typeof number === 'number' || 'eEfFgG%'.includes(spec.type || ' ')
  return isFloat ? formatFloat(Number(number), spec) : formatInteger(number, spec)
}

function formatText(text: string, spec: Spec): string {
  if (spec.type !== '' && spec.type !== 's')
    throw new TemplateError(`Unknown format code '${spec.type}' for object of type 'str'`)
  const kept = spec.precision === undefined ? text : charactersOf(text).slice(0, spec.precision).join('')
  return align(kept, spec, spec.align === '=' ? '<' : (spec.align ?? '<'))
}

function align(text: string, { fill, width }: Spec, side: string): string {
  const missing = width - charactersOf(text).length
  if (missing <= 0) return text
  if (side === '<') return text + fill.repeat(missing)
  if (side === '>') return fill.repeat(missing) + text
  const left = Math.floor(missing / 2)
  return fill.repeat(left) + text + fill.repeat(missing - left)
}

function signed(isNegative: boolean, prefix: string, digits: string, spec: Spec): string {
  const sign = isNegative ? '-' : spec.sign === '-' ? '' : spec.sign
  if (spec.align !== '=') return align(sign + prefix + digits, spec, spec.align ?? '>')
  const missing = spec.width - sign.length - prefix.length
  const filled =
    spec.grouping !== '' && spec.fill === '0'
      ? groupedTo(digits, missing, spec)
      : digits.padStart(missing, spec.fill)
  return sign + prefix + filled
}

/** Zeros in front that are grouped like the digits. */
function groupedTo(digits: string, width: number, spec: Spec): string {
  let text = digits
  while (text.length < width) {
    const plain = text.replaceAll(spec.grouping, '')
    text = group(`0${plain}`, spec.grouping, 3)
    if (text.length > width && text.startsWith('0')) break
  }
  return text
}

const group = (digits: string, separator: string, size: number): string => {
  const [whole = '', ...rest] = digits.split(/(?=[.e%])/)
  const grouped = whole.replaceAll(new RegExp(`\\B(?=(?:[\\da-fA-F]{${size}})+$)`, 'g'), separator)
  return grouped + rest.join('')
}

const RADIX: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 }

function formatInteger(value: bigint, spec: Spec): string {
  if (spec.type === 'c') return align(String.fromCodePoint(Number(value)), spec, spec.align ?? '<')
  if (spec.precision !== undefined)
    throw new TemplateError('Precision not allowed in integer format specifier')
  if (spec.type === 's') throw new TemplateError("Unknown format code 's' for object of type 'int'")
  const absolute = value < 0n ? -value : value
  const radix = RADIX[spec.type] ?? 10
  const plain = radix === 10 ? integerText(absolute) : absolute.toString(radix)
  const digits = spec.type === 'X' ? plain.toUpperCase() : plain
  const grouped = spec.grouping === '' ? digits : group(digits, spec.grouping, radix === 10 ? 3 : 4)
  return signed(value < 0n, spec.isAlternate && radix !== 10 ? `0${spec.type}` : '', grouped, spec)
}

function formatFloat(value: number, spec: Spec): string {
  const { type, precision } = spec
  if (type !== '' && !'eEfFgGn%'.includes(type))
    throw new TemplateError(`Unknown format code '${type}' for object of type 'float'`)
  const absolute = Math.abs(value)
  let digits: string
  if (type === '%') digits = `${floatDigits(absolute * 100, 'f', precision ?? 6, spec.isAlternate)}%`
  else if (type !== '')
    digits = floatDigits(absolute, type === 'n' ? 'g' : type, precision ?? 6, spec.isAlternate)
  else if (precision === undefined) digits = floatText(absolute)
  else digits = generalDigits(absolute, precision)
  const grouped = spec.grouping === '' ? digits : group(digits, spec.grouping, 3)
  return signed(value < 0 || Object.is(value, -0), '', grouped, spec)
}

/** Without a type, at least one digit follows the point. */
function generalDigits(value: number, precision: number): string {
  const text = floatDigits(value, 'g', precision, false)
  if (!Number.isFinite(value) || text.includes('e') || text.includes('.')) return text
  const places = Math.max(precision, 1)
  return text.length >= places
    ? floatDigits(value, 'e', places - 1, false).replace(/\.?0+e/, 'e')
    : `${text}.0`
}
