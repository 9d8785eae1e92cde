/** Binds the arguments of a call to parameters, and reads them as Python types. */
import { TemplateError } from './errors.ts'
import { truth } from './comparison.ts'
import { printed } from './text/print.ts'
import { Markup, Undefined, typeName, type Arguments, type Value } from './values.ts'

export const NO_ARGUMENTS: Arguments = { positional: [], named: new Map() }

/** The arguments in the order of the parameters. One that was not given is undefined. */
export function bind(
  name: string,
  parameters: readonly string[],
  { positional, named }: Arguments,
): (Value | undefined)[] {
  if (positional.length > parameters.length)
    throw new TemplateError(
      `${name}() takes at most ${parameters.length} arguments (${positional.length} given)`,
    )
  const bound: (Value | undefined)[] = parameters.map((_, i) => positional[i])
  for (const [key, value] of named) {
    const at = parameters.indexOf(key)
    if (at < 0) throw new TemplateError(`${name}() got an unexpected keyword argument '${key}'`)
    if (bound[at] !== undefined)
      throw new TemplateError(`${name}() got multiple values for argument '${key}'`)
    bound[at] = value
  }
  return bound
}

export function required(name: string, parameter: string, value: Value | undefined): Value {
  if (value === undefined) throw new TemplateError(`${name}() missing the required argument '${parameter}'`)
  return value
}

/** A text argument. Unlike `str(value)`, nothing else is converted. */
export function textArgument(name: string, value: Value): string {
  if (typeof value === 'string') return value
  if (value instanceof Markup) return value.text
  if (value instanceof Undefined) return value.fail()
  throw new TemplateError(`${name}: expected a string, got '${typeName(value)}'`)
}

/** An integer argument. */
export function integerArgument(name: string, value: Value): number {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Undefined) return value.fail()
  throw new TemplateError(`${name}: '${typeName(value)}' object cannot be interpreted as an integer`)
}

export const integerOr = (name: string, value: Value | undefined, otherwise: number): number =>
  value === undefined ? otherwise : integerArgument(name, value)

export const flag = (value: Value | undefined): boolean => value !== undefined && truth(value)

/** `str(value)` of an optional argument. */
export const printedOr = (value: Value | undefined, otherwise: string): string =>
  value === undefined ? otherwise : printed(value)
