/** Filters for numbers, attributes, defaults and JSON. */
import { flag, integerArgument, integerOr, printedOr, required, textArgument } from '../arguments.ts'
import { attributeOf } from '../attributes.ts'
import { TemplateError } from '../errors.ts'
import { jsonText } from '../json-text.ts'
import { numberOf, truth } from '../comparison.ts'
import { listOf } from '../sequences.ts'
import { scaledInteger } from '../text/float.ts'
import { parseFloatText, parseIntegerText } from '../text/parse-number.ts'
import { pretty } from '../text/pretty.ts'
import { Dict, Undefined, isText, orElse, textOf, typeName, type Value } from '../values.ts'
import { define, type Filter } from './define.ts'

function integer(value: Value, [otherwise, base]: readonly (Value | undefined)[]): Value {
  const fallback = orElse(otherwise, () => 0n)
  if (value instanceof Undefined) return value.fail()
  const number = numberOf(value)
  if (typeof number === 'bigint') return number
  const parsed = isText(value)
    ? (parseIntegerText(textOf(value), integerOr('int', base, 10)) ?? parseFloatText(textOf(value)))
    : number
  if (typeof parsed === 'bigint') return parsed
  if (parsed === undefined || Number.isNaN(parsed)) return fallback
  if (Number.isFinite(parsed)) return BigInt(Math.trunc(parsed))
  if (isText(value)) return fallback
  throw new TemplateError('cannot convert float infinity to integer')
}

function float(value: Value, [otherwise]: readonly (Value | undefined)[]): Value {
  if (value instanceof Undefined) return value.fail()
  const number = numberOf(value)
  if (number !== undefined) return Number(number)
  const parsed = isText(value) ? parseFloatText(textOf(value)) : undefined
  return parsed ?? orElse(otherwise, () => 0)
}

function round(value: Value, [precision, method]: readonly (Value | undefined)[]): Value {
  const places = integerOr('round', precision, 0)
  const kind = printedOr(method, 'common')
  const number = numberOf(value)
  if (value instanceof Undefined) return value.fail()
  if (number === undefined) throw new TemplateError(`type ${typeName(value)} doesn't define __round__ method`)
  if (kind === 'common')
    return typeof number === 'bigint' ? roundInteger(number, places) : roundFloat(number, places)
  if (kind !== 'ceil' && kind !== 'floor') throw new TemplateError('method must be common, ceil or floor')
  const scale = 10 ** places
  return Math[kind](Number(number) * scale) / scale
}

function roundInteger(value: bigint, places: number): bigint {
  if (places >= 0) return value
  const unit = 10n ** BigInt(-places)
  const absolute = value < 0n ? -value : value
  const [quotient, rest] = [absolute / unit, absolute % unit]
  const isUp = 2n * rest > unit || (2n * rest === unit && quotient % 2n === 1n)
  const rounded = (quotient + (isUp ? 1n : 0n)) * unit
  return value < 0n ? -rounded : rounded
}

function roundFloat(value: number, places: number): number {
  if (!Number.isFinite(value) || places > 323) return value
  if (places < -308) return value < 0 ? -0 : 0
  const rounded = Number(`${scaledInteger(value, places)}e${-places}`)
  return value < 0 || Object.is(value, -0) ? -rounded : rounded
}

function absolute(value: Value): Value {
  const number = numberOf(value)
  if (number === undefined) throw new TemplateError(`bad operand type for abs(): '${typeName(value)}'`)
  return typeof number === 'bigint' ? (number < 0n ? -number : number) : Math.abs(number)
}

/** An attribute only, never an item. */
function attribute(value: Value, name: string, runtime: Parameters<Filter>[2]): Value {
  if (value instanceof Undefined) return value.fail()
  if (value instanceof Dict && !value.has(name)) return attributeOf(value, name, runtime)
  if (value instanceof Dict) return attributeOf(new Dict(), name, runtime)
  return attributeOf(value, name, runtime)
}

const PARAMETERS = ['ensure_ascii', 'indent', 'separators', 'sort_keys']

const toJson: Parameters<typeof define>[2] = (value, [ascii, indent, separators, sorts], runtime) => {
  const by =
    indent === undefined || indent === null
      ? undefined
      : isText(indent)
        ? textOf(indent)
        : ' '.repeat(Math.max(integerArgument('tojson', indent), 0))
  const given = separators === undefined || separators === null ? undefined : listOf(separators)
  if (given && given.length !== 2) throw new TemplateError('tojson: separators takes two texts')
  const [item, key] = given ?? [by === undefined ? ', ' : ',', ': ']
  return jsonText(
    value,
    {
      isAscii: flag(ascii),
      indent: by,
      itemSeparator: textArgument('tojson', item ?? ''),
      keySeparator: textArgument('tojson', key ?? ''),
      sortsKeys: flag(sorts),
    },
    runtime,
  )
}

export const VALUE_FILTERS: readonly [string, Filter][] = [
  define('abs', [], value => (value instanceof Undefined ? value.fail() : absolute(value))),
  define('attr', ['name'], (value, [name], runtime) =>
    attribute(value, textArgument('attr', required('attr', 'name', name)), runtime),
  ),
  ...['d', 'default'].map(name =>
    define(name, ['default_value', 'boolean'], (value, [otherwise, isBoolean]) =>
      value instanceof Undefined || (flag(isBoolean) && !truth(value)) ? orElse(otherwise, () => '') : value,
    ),
  ),
  define('float', ['default'], float),
  define('int', ['default', 'base'], integer),
  define('pprint', [], value => pretty(value)),
  define('round', ['precision', 'method'], round),
  define('tojson', PARAMETERS, toJson),
]
