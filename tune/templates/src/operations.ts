/** Arithmetic, which is Python's. */
import { equals, numberOf, sequenceItems } from './comparison.ts'
import { TemplateError } from './errors.ts'
import type { BinaryOperator } from './syntax/nodes.ts'
import { formatPrintf } from './text/printf.ts'
import { escapeHtml } from './text/html.ts'
import type { Runtime } from './values.ts'
import { DictView, Markup, Tuple, Undefined, isText, textOf, typeName, type Value } from './values.ts'

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
