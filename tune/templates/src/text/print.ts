/** How Python prints values: `str` and `repr`. */
import { TemplateError } from '../errors.ts'
import {
  Dict,
  DictView,
  Markup,
  Range,
  Tuple,
  Undefined,
  textOf,
  typeName,
  isText,
  type Value,
} from '../values.ts'
import { floatText } from './float.ts'

/** Python refuses to print longer integers. */
const MAX_INTEGER_DIGITS = 4300

export function integerText(value: bigint): string {
  const text = value.toString()
  if (text.length - Number(value < 0n) > MAX_INTEGER_DIGITS)
    throw new TemplateError(`Exceeds the limit (${MAX_INTEGER_DIGITS} digits) for integer string conversion`)
  return text
}

/** `str(value)`. */
export function printed(value: Value): string {
  if (isText(value)) return textOf(value)
  return value instanceof Undefined ? '' : repr(value)
}

/** `repr(value)`, which strings inside of others have. */
export function repr(value: Value): string {
  if (value === null) return 'None'
  switch (typeof value) {
    case 'boolean':
      return value ? 'True' : 'False'
    case 'bigint':
      return integerText(value)
    case 'number':
      return floatText(value)
    case 'string':
      return stringRepr(value)
    default:
  }
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`
  if (value instanceof Dict)
    return `{${[...value.entries()].map(([key, one]) => `${repr(key)}: ${repr(one)}`).join(', ')}}`
  if (value instanceof Tuple)
    return value.items.length === 1
      ? `(${repr(value.items[0] ?? null)},)`
      : `(${value.items.map(repr).join(', ')})`
  if (value instanceof Markup) return `Markup(${stringRepr(value.text)})`
  if (value instanceof Undefined) return 'Undefined'
  if (value instanceof Range) {
    const { start, stop, step } = value
    return `range(${start}, ${stop}${step === 1n ? '' : `, ${step}`})`
  }
  if (value instanceof DictView) return `dict_${value.part}(${repr(value.items)})`
  const shown = 'shown' in value ? value.shown : undefined
  if (shown !== undefined) return shown
  throw new TemplateError(
    `cannot print a value of type ${typeName(value)}, whose text in Python is an address in memory; ` +
      'call it, or add | list',
  )
}

/** What `str.isprintable` refuses, and the backslash. */
const ESCAPED = /[\p{C}\p{Z}\\]/gu

const NAMED: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\\': '\\\\',
  ' ': ' ',
}

/** Python prefers single quotes, unless the text has single and no double ones. */
export function stringRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replaceAll(ESCAPED, char => {
    const named = NAMED[char]
    if (named !== undefined) return named
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
  })
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`
}

/** `ascii(value)`. */
export const asciiRepr = (value: Value): string =>
  repr(value).replaceAll(/[^\0-\x7f]/gu, char => {
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
  })
