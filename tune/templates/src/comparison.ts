/** Truth, equality and order of values, which are Python's. */
import { TemplateError } from './errors.ts'
import {
  Dict,
  DictView,
  Markup,
  Range,
  Stream,
  Tuple,
  Undefined,
  isText,
  textOf,
  typeName,
  type Value,
} from './values.ts'

export function truth(value: Value): boolean {
  switch (typeof value) {
    case 'boolean':
      return value
    case 'bigint':
      return value !== 0n
    case 'number':
      return value !== 0
    case 'string':
      return value !== ''
    default:
  }
  if (value === null || value instanceof Undefined) return false
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof Dict) return value.size > 0
  if (value instanceof Tuple) return value.items.length > 0
  if (value instanceof Markup) return value.text !== ''
  if (value instanceof Range) return value.length > 0
  if (value instanceof DictView) return value.dict.size > 0
  return value instanceof Stream || value.length !== 0
}

/** A bool counts as 0 or 1. Undefined for a value that is not a number. */
export function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  return typeof value === 'boolean' ? BigInt(value) : undefined
}

export function equals(left: Value, right: Value): boolean {
  if (left === right) return typeof left !== 'number' || !Number.isNaN(left)
  const [a, b] = [numberOf(left), numberOf(right)]
  // Loose, because that compares an int with a float exactly.
  // oxlint-disable-next-line eqeqeq
  if (a !== undefined && b !== undefined) return a == b
  if (isText(left)) return isText(right) && textOf(left) === textOf(right)
  if (Array.isArray(left)) return Array.isArray(right) && sameItems(left, right)
  if (left instanceof Tuple) return right instanceof Tuple && sameItems(left.items, right.items)
  if (left instanceof Dict)
    return (
      right instanceof Dict &&
      left.size === right.size &&
      [...left.entries()].every(([key, value]) => {
        const other = right.get(key)
        return other !== undefined && equals(value, other)
      })
    )
  if (left instanceof Range) return right instanceof Range && sameItems(rangeItems(left), rangeItems(right))
  if (left instanceof DictView)
    return (
      right instanceof DictView &&
      left.part !== 'values' &&
      left.items.length === right.items.length &&
      left.items.every(item => right.items.some(other => equals(item, other)))
    )
  return left instanceof Undefined && right instanceof Undefined
}

const rangeItems = (range: Range): Value[] => Array.from({ length: range.length }, (_, i) => range.at(i))

const sameItems = (left: readonly Value[], right: readonly Value[]): boolean =>
  left.length === right.length && left.every((item, i) => equals(item, right[i] ?? null))

/** Negative, zero or positive, for values that Python can order. */
export function compare(left: Value, right: Value, operator = '<'): number {
  const [a, b] = [numberOf(left), numberOf(right)]
  if (a !== undefined && b !== undefined) return a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN
  if (isText(left) && isText(right)) return compareTexts(textOf(left), textOf(right))
  const [items, others] = [sequenceItems(left), sequenceItems(right)]
  if (items && others && typeName(left) === typeName(right)) {
    const at = items.findIndex((item, i) => i < others.length && !equals(item, others[i] ?? null))
    const [item, other] = [items[at], others[at]]
    return item === undefined || other === undefined
      ? items.length - others.length
      : compare(item, other, operator)
  }
  if (left instanceof Undefined) return left.fail()
  if (right instanceof Undefined) return right.fail()
  throw new TemplateError(
    `'${operator}' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`,
  )
}

export const sequenceItems = (value: Value): readonly Value[] | undefined =>
  Array.isArray(value) ? value : value instanceof Tuple ? value.items : undefined

/** Python compares code points, JavaScript halves of surrogate pairs. */
function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  let at = 0
  while (at < length && left[at] === right[at]) at++
  if (at === length) return left.length - right.length
  const [a = 0, b = 0] = [left.charCodeAt(at), right.charCodeAt(at)]
  const isHalf = (code: number) => code >= 0xd800 && code < 0xe000
  if (isHalf(a) !== isHalf(b)) return isHalf(a) ? 1 : -1
  return a - b
}
