/** `pprint.pformat` for the values that templates have, with its width of 80 columns. */
import { TemplateError } from '../errors.ts'
import { compare } from '../comparison.ts'
import { Dict, Tuple, isText, textOf, type Value } from '../values.ts'
import { repr } from './print.ts'

const WIDTH = 80

/** `indent` is the column where the value starts, `allowance` the characters that follow it on its line. */
export function pretty(value: Value, indent = 0, allowance = 0): string {
  const line = oneLine(value)
  if (line.length <= WIDTH - indent - allowance) return line
  if (Array.isArray(value)) return items(value, '[', ']', indent, allowance)
  if (value instanceof Tuple)
    return items(value.items, '(', value.items.length === 1 ? ',)' : ')', indent, allowance)
  if (value instanceof Dict && value.size > 0) {
    const entries = sortedEntries(value)
    return `{${entries
      .map(([key, one], i) => {
        const name = `${repr(key)}: `
        const isLast = i === entries.length - 1
        return name + pretty(one, indent + 1 + name.length, isLast ? allowance + 1 : 1)
      })
      .join(`,\n${' '.repeat(indent + 1)}`)}}`
  }
  if (isText(value) && /\s/.test(textOf(value)))
    throw new TemplateError(`pprint splits a text of ${line.length} characters, which is not supported`)
  return line
}

function items(
  values: readonly Value[],
  open: string,
  close: string,
  indent: number,
  allowance: number,
): string {
  const written = values.map((value, i) =>
    pretty(value, indent + 1, i === values.length - 1 ? allowance + close.length : 1),
  )
  return open + written.join(`,\n${' '.repeat(indent + 1)}`) + close
}

/** `repr`, with the keys of every dict in order. */
function oneLine(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (value instanceof Tuple)
    return value.items.length === 1
      ? `(${oneLine(value.items[0] ?? null)},)`
      : `(${value.items.map(oneLine).join(', ')})`
  if (value instanceof Dict)
    return `{${sortedEntries(value)
      .map(([key, one]) => `${repr(key)}: ${oneLine(one)}`)
      .join(', ')}}`
  return repr(value)
}

const sortedEntries = (dict: Dict): [Value, Value][] =>
  [...dict.entries()].toSorted(([a], [b]) =>
    typeof a === typeof b ? compare(a, b) : typeof a < typeof b ? -1 : 1,
  )
