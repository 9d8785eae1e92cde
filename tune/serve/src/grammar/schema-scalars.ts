/** Strings and numbers of a schema. */
import { GrammarError, NEVER } from './expression.ts'
import type { Expression } from './grammar.ts'
import { FORMATS } from './formats.ts'
import { inString, quoted, string } from './json-text.ts'
import { integer, number } from './numbers.ts'
import { regexExpression } from './regex.ts'
import type { Flat } from './schema-merge.ts'

export const refuse = (what: string): never => {
  throw new GrammarError(`${what} is not supported`)
}
export const numberOf = (flat: Flat, keyword: string, otherwise: number): number =>
  (flat[keyword] as number | undefined) ?? otherwise

function boundsOf(flat: Flat) {
  const [minimum, above] = [
    numberOf(flat, 'minimum', -Infinity),
    numberOf(flat, 'exclusiveMinimum', -Infinity),
  ]
  const [maximum, below] = [numberOf(flat, 'maximum', Infinity), numberOf(flat, 'exclusiveMaximum', Infinity)]
  return {
    minimum: Math.max(minimum, above),
    maximum: Math.min(maximum, below),
    isOpenBelow: above >= minimum && above !== -Infinity,
    isOpenAbove: below <= maximum && below !== Infinity,
  }
}

export function stringFor(flat: Flat): Expression {
  const [min, max] = [numberOf(flat, 'minLength', 0), numberOf(flat, 'maxLength', Infinity)]
  const hasLength = min > 0 || max < Infinity
  const { pattern, format } = flat
  if (pattern !== undefined && format !== undefined) refuse('pattern together with format')
  if (pattern === undefined && format === undefined) return max < min ? NEVER : string(min, max)
  if (hasLength) refuse('minLength or maxLength with pattern or format (put the length into the pattern)')
  if (pattern !== undefined) return quoted(regexExpression(String(pattern), inString, true))
  const known = Object.hasOwn(FORMATS, String(format)) ? FORMATS[String(format)] : undefined
  if (!known) refuse(`the format ${JSON.stringify(format)} (supported: ${Object.keys(FORMATS).join(', ')})`)
  return quoted(regexExpression(known ?? '', inString))
}

export function numberFor(type: 'integer' | 'number', flat: Flat): Expression {
  if (flat.multipleOf !== undefined && !(flat.multipleOf === 1 && type === 'integer'))
    refuse(`multipleOf ${JSON.stringify(flat.multipleOf)}`)
  return type === 'integer' ? integer(boundsOf(flat)) : number(boundsOf(flat))
}
