/** `json.dumps`, which the filter `tojson` of transformers calls. */
import { TemplateError } from './errors.ts'
import { compare } from './comparison.ts'
import type { Runtime } from './values.ts'
import { floatText } from './text/float.ts'
import { integerText } from './text/print.ts'
import { Dict, Tuple, isText, textOf, typeName, type Value } from './values.ts'

export type JsonOptions = {
  isAscii: boolean
  /** Undefined for one line. */
  indent: string | undefined
  itemSeparator: string
  keySeparator: string
  sortsKeys: boolean
}

export function jsonText(value: Value, options: JsonOptions, runtime: Runtime): string {
  const text = write(value, options, '\n', runtime)
  runtime.budget.text(text.length)
  return text
}

function write(value: Value, options: JsonOptions, lineBreak: string, runtime: Runtime): string {
  runtime.budget.spend(1)
  if (value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return integerText(value)
  if (typeof value === 'number') return jsonFloat(value)
  if (isText(value)) return quote(textOf(value), options.isAscii)
  if (Array.isArray(value)) return writeItems('[]', value, options, lineBreak, runtime)
  if (value instanceof Tuple) return writeItems('[]', value.items, options, lineBreak, runtime)
  if (!(value instanceof Dict))
    throw new TemplateError(`Object of type ${typeName(value)} is not JSON serializable`)
  const entries = [...value.entries()]
  if (options.sortsKeys) entries.sort(([a], [b]) => compare(a, b))
  return writeItems('{}', entries, options, lineBreak, runtime)
}

function writeItems(
  [open = '', close = '']: string,
  items: readonly (Value | [Value, Value])[],
  options: JsonOptions,
  lineBreak: string,
  runtime: Runtime,
): string {
  if (items.length === 0) return open + close
  const inner = options.indent === undefined ? '' : lineBreak + options.indent
  const nested = options.indent === undefined ? lineBreak : inner
  const written = items.map(item =>
    open === '{'
      ? writeEntry(item as [Value, Value], options, nested, runtime)
      : write(item as Value, options, nested, runtime),
  )
  const separator = options.itemSeparator + inner
  return open + inner + written.join(separator) + (options.indent === undefined ? '' : lineBreak) + close
}

const writeEntry = (
  [key, value]: readonly [Value, Value],
  options: JsonOptions,
  lineBreak: string,
  runtime: Runtime,
): string =>
  quote(keyText(key), options.isAscii) + options.keySeparator + write(value, options, lineBreak, runtime)

function keyText(key: Value): string {
  if (isText(key)) return textOf(key)
  if (key === null) return 'null'
  if (typeof key === 'boolean') return String(key)
  if (typeof key === 'bigint') return integerText(key)
  if (typeof key === 'number') return jsonFloat(key)
  throw new TemplateError(`keys must be str, int, float, bool or None, not ${typeName(key)}`)
}

const jsonFloat = (value: number): string =>
  Number.isNaN(value)
    ? 'NaN'
    : Number.isFinite(value)
      ? floatText(value)
      : value > 0
        ? 'Infinity'
        : '-Infinity'

const NAMED: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
}
const unicode = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
// eslint-disable-next-line no-control-regex
const SPECIAL = /["\\\0-\x1f]/g
/** Halves of surrogate pairs are escaped one by one. */
const NOT_ASCII = /["\\]|[^ -~]/g

const quote = (text: string, isAscii: boolean): string =>
  `"${text.replaceAll(isAscii ? NOT_ASCII : SPECIAL, char => NAMED[char] ?? unicode(char))}"`
