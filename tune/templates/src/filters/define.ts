/** How filters are defined, and how those that take `attribute` look it up. */
import { bind } from '../arguments.ts'
import { subscript } from '../attributes.ts'
import type { Runtime } from '../values.ts'
import { Undefined, isText, textOf, type Arguments, type Value } from '../values.ts'

export type Filter = (value: Value, args: Arguments, runtime: Runtime) => Value

/** A filter with parameters, of which those not given are undefined. */
export const define = (
  name: string,
  parameters: readonly string[],
  run: (value: Value, given: readonly (Value | undefined)[], runtime: Runtime) => Value,
): [string, Filter] => [name, (value, args, runtime) => run(value, bind(name, parameters, args), runtime)]

/** The parts of `a.b.0`, of which numbers are indices. */
const partsOf = (attribute: string): Value[] =>
  attribute.split('.').map(part => (/^\d+$/.test(part) ? BigInt(part) : part))

/** Reads an attribute with dots. None returns the item itself. */
export function attributeGetter(
  attribute: Value | undefined,
  runtime: Runtime,
  otherwise?: Value | undefined,
): (item: Value) => Value {
  if (attribute === undefined || attribute === null) return item => item
  const parts = isText(attribute) ? partsOf(textOf(attribute)) : [attribute]
  return item => {
    let value = item
    for (const part of parts) {
      value = subscript(value, part, runtime)
      if (otherwise !== undefined && otherwise !== null && value instanceof Undefined) value = otherwise
    }
    return value
  }
}

/** Text in lower case, so that sorting and grouping ignore case. */
export const ignoreCase = (value: Value): Value => (isText(value) ? textOf(value).toLowerCase() : value)
