/** Truth, equality, order and arithmetic, which are Python's. */
import { TemplateError } from './errors.ts'
import type { BinaryOperator } from './syntax/nodes.ts'
import { formatPrintf } from './text/printf.ts'
import { escapeHtml } from './text/html.ts'
import type { Runtime } from './runtime.ts'
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

const sequenceItems = (value: Value): readonly Value[] | undefined =>
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

const MAX_INTEGER_BITS = 1_000_000

function checkBits(value: bigint): bigint {
  if (value > 1n << 1024n || value < -(1n << 1024n)) {
    // A hexadecimal digit has four bits.
    if (value.toString(16).length * 4 > MAX_INTEGER_BITS)
      throw new TemplateError(`an integer has more than ${MAX_INTEGER_BITS} bits`)
  }
  return value
}

export function binary(operator: BinaryOperator, left: Value, right: Value, runtime: Runtime): Value {
  const [a, b] = [numberOf(left), numberOf(right)]
  if (a !== undefined && b !== undefined)
    return typeof a === 'bigint' && typeof b === 'bigint'
      ? integers(operator, a, b)
      : floats(operator, Number(a), Number(b))
  if (left instanceof Undefined) return left.fail()
  if (operator === '%' && isText(left)) return formatPrintf(left, right, runtime)
  if (right instanceof Undefined) return right.fail()
  if (operator === '+') return add(left, right, runtime)
  if (operator === '*') {
    const count = typeof b === 'bigint' ? b : typeof a === 'bigint' ? a : undefined
    if (count !== undefined) return repeat(typeof b === 'bigint' ? left : right, count, runtime)
  }
  if (left instanceof DictView && right instanceof DictView && operator === '-')
    return left.items.filter(item => !right.items.some(other => equals(item, other)))
  throw new TemplateError(
    `unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`,
  )
}

function add(left: Value, right: Value, runtime: Runtime): Value {
  if (isText(left) && isText(right)) {
    const isMarkup = left instanceof Markup || right instanceof Markup
    const [a, b] = isMarkup ? [escapeHtml(left), escapeHtml(right)] : [textOf(left), textOf(right)]
    runtime.budget.text(a.length + b.length, Math.min(a.length, b.length))
    return isMarkup ? new Markup(a + b) : a + b
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    runtime.budget.list(left.length + right.length)
    return [...left, ...right]
  }
  if (left instanceof Tuple && right instanceof Tuple) {
    runtime.budget.list(left.items.length + right.items.length)
    return new Tuple([...left.items, ...right.items])
  }
  throw new TemplateError(
    isText(left)
      ? `can only concatenate str (not "${typeName(right)}") to str`
      : `unsupported operand type(s) for +: '${typeName(left)}' and '${typeName(right)}'`,
  )
}

function repeat(value: Value, times: bigint, runtime: Runtime): Value {
  const count = times > 0n ? Number(times) : 0
  if (isText(value)) {
    runtime.budget.text(value instanceof Markup ? value.text.length * count : value.length * count)
    const text = textOf(value).repeat(count)
    return value instanceof Markup ? new Markup(text) : text
  }
  const items = sequenceItems(value)
  if (!items) throw new TemplateError(`can't multiply a value of type '${typeName(value)}' by an integer`)
  runtime.budget.list(items.length * count)
  const repeated = Array.from({ length: count }, () => items).flat()
  return value instanceof Tuple ? new Tuple(repeated) : repeated
}

const fail = (message: string): never => {
  throw new TemplateError(message)
}

const modulo = (a: bigint, b: bigint): bigint => {
  const rest = a % b
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest
}

function integers(operator: BinaryOperator, a: bigint, b: bigint): bigint | number {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return checkBits(a * b)
    case '/':
      return b === 0n ? fail('division by zero') : quotient(a, b)
    case '//':
      return b === 0n ? fail('integer division or modulo by zero') : (a - modulo(a, b)) / b
    case '%':
      return b === 0n ? fail('integer modulo by zero') : modulo(a, b)
    case '**':
      return b < 0n ? floats('**', Number(a), Number(b)) : integerPower(a, b)
  }
}

/** Exact for integers that a double holds; for longer ones the bits that count are divided. */
function quotient(a: bigint, b: bigint): number {
  const value = Number(a) / Number(b)
  return Number.isFinite(value) ? value : fail('integer division result too large for a float')
}

function integerPower(base: bigint, exponent: bigint): bigint {
  const bits = base.toString(2).length
  if (base !== 0n && base !== 1n && base !== -1n && BigInt(bits) * exponent > BigInt(MAX_INTEGER_BITS))
    return fail(`an integer has more than ${MAX_INTEGER_BITS} bits`)
  return base ** exponent
}

function floats(operator: BinaryOperator, a: number, b: number): number {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return b === 0 ? fail('float division by zero') : a / b
    case '//':
      return b === 0 ? fail('float floor division by zero') : floatFloor(a, b)
    case '%':
      return b === 0 ? fail('float modulo') : floatModulo(a, b)
    case '**':
      if (a === 0 && b < 0) return fail('0.0 cannot be raised to a negative power')
      if (a < 0 && !Number.isInteger(b)) return fail('a negative number to a fractional power is complex')
      return a ** b
  }
}

function floatModulo(a: number, b: number): number {
  const rest = a % b
  if (rest === 0) return b < 0 ? -0 : 0
  return rest < 0 !== b < 0 ? rest + b : rest
}

function floatFloor(a: number, b: number): number {
  const exact = (a - floatModulo(a, b)) / b
  const floor = Math.floor(exact)
  return exact - floor > 0.5 ? floor + 1 : floor
}

export function negative(value: Value): Value {
  const number = numberOf(value)
  if (number !== undefined) return -number
  return value instanceof Undefined
    ? value.fail()
    : fail(`bad operand type for unary -: '${typeName(value)}'`)
}

export function positive(value: Value): Value {
  const number = numberOf(value)
  if (number !== undefined) return number
  return value instanceof Undefined
    ? value.fail()
    : fail(`bad operand type for unary +: '${typeName(value)}'`)
}
