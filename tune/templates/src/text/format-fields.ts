/** `str.format` and `str.format_map`. */
import { TemplateError } from '../errors.ts'
import type { Runtime } from '../values.ts'
import { itemAt } from '../sequences.ts'
import { Dict, Undefined, orElse, type Arguments, type Value } from '../values.ts'
import { formatValue } from './format-spec.ts'
import { asciiRepr, printed, repr } from './print.ts'

/** Where the values of fields come from: arguments, or a mapping. */
type Source = Arguments | Dict

export function formatFields(format: string, source: Source, runtime: Runtime): string {
  const counter = { next: 0, isNumbered: undefined as boolean | undefined }
  const text = expand(format, source, counter, runtime, 2)
  runtime.budget.text(text.length)
  return text
}

type Counter = { next: number; isNumbered: boolean | undefined }

function expand(format: string, source: Source, counter: Counter, runtime: Runtime, depth: number): string {
  if (depth < 0) throw new TemplateError('Max string recursion exceeded')
  let text = ''
  let at = 0
  while (at < format.length) {
    const char = format[at] ?? ''
    if (char !== '{' && char !== '}') {
      text += char
      at++
    } else if (format[at + 1] === char) {
      text += char
      at += 2
    } else {
      if (char === '}') throw new TemplateError("Single '}' encountered in format string")
      const end = fieldEnd(format, at)
      text += field(format.slice(at + 1, end), source, counter, runtime, depth)
      at = end + 1
    }
  }
  return text
}

function fieldEnd(format: string, start: number): number {
  let open = 0
  for (let at = start; at < format.length; at++) {
    if (format[at] === '{') open++
    else if (format[at] === '}' && --open === 0) return at
  }
  throw new TemplateError("expected '}' before end of string")
}

function field(text: string, source: Source, counter: Counter, runtime: Runtime, depth: number): string {
  const found = /^([^!:]*(?:\[[^\]]*\][^!:]*)*)(?:!([\s\S]))?(?::([\s\S]*))?$/.exec(text)
  if (!found) throw new TemplateError(`invalid replacement field {${text}}`)
  const [, name = '', conversion, spec = ''] = found
  const value = convert(lookUp(name, source, counter, runtime), conversion)
  return formatValue(value, expand(spec, source, counter, runtime, depth - 1))
}

function convert(value: Value, conversion: string | undefined): Value {
  switch (conversion) {
    case undefined:
      return value
    case 's':
      return printed(value)
    case 'r':
      return repr(value)
    case 'a':
      return asciiRepr(value)
    default:
      throw new TemplateError(`Unknown conversion specifier '${conversion}'`)
  }
}

function lookUp(name: string, source: Source, counter: Counter, runtime: Runtime): Value {
  const first = /^[^.[]*/.exec(name)?.[0] ?? ''
  let value = firstValue(first, source, counter)
  for (const [, attribute, item] of name.slice(first.length).matchAll(/\.([^.[]+)|\[([^\]]*)\]/g)) {
    if (attribute !== undefined) value = runtime.attribute(value, attribute)
    else if (item !== undefined) {
      const key = /^\d+$/.test(item) ? BigInt(item) : item
      value = orElse(itemAt(value, key), () => new Undefined(`no element '${item}'`))
    }
  }
  return value
}

function firstValue(name: string, source: Source, counter: Counter): Value {
  const isNumber = name === '' || /^\d+$/.test(name)
  if (!isNumber) {
    const value = source instanceof Dict ? source.get(name) : source.named.get(name)
    if (value === undefined) throw new TemplateError(`format: no argument '${name}'`)
    return value
  }
  const isNumbered = name !== ''
  if (counter.isNumbered !== undefined && counter.isNumbered !== isNumbered)
    throw new TemplateError('cannot switch between manual field specification and automatic field numbering')
  counter.isNumbered = isNumbered
  const at = isNumbered ? Number(name) : counter.next++
  const value = source instanceof Dict ? undefined : source.positional[at]
  if (value === undefined)
    throw new TemplateError(`Replacement index ${at} out of range for positional args tuple`)
  return value
}
