/** Methods and attributes of Python's `int` and `float`. */
import { TemplateError } from '../errors.ts'
import { Tuple, type Value } from '../values.ts'
import { method, type Method } from './table.ts'

export const INTEGER_METHODS: ReadonlyMap<string, Method<bigint>> = new Map([
  ['as_integer_ratio', method<bigint>('as_integer_ratio', [], value => new Tuple([value, 1n]))],
  [
    'bit_count',
    method<bigint>('bit_count', [], value =>
      BigInt((value < 0n ? -value : value).toString(2).replaceAll('0', '').length),
    ),
  ],
  [
    'bit_length',
    method<bigint>('bit_length', [], value =>
      value === 0n ? 0n : BigInt((value < 0n ? -value : value).toString(2).length),
    ),
  ],
  ['conjugate', method<bigint>('conjugate', [], value => value)],
  ['is_integer', method<bigint>('is_integer', [], () => true)],
])

export const FLOAT_METHODS: ReadonlyMap<string, Method<number>> = new Map([
  ['conjugate', method<number>('conjugate', [], value => value)],
  ['is_integer', method<number>('is_integer', [], value => Number.isInteger(value))],
  ['hex', unsupportedHex()],
])

function unsupportedHex(): Method<number> {
  return () => {
    throw new TemplateError('the method hex() of a float is not supported')
  }
}

/** `real`, `imag`, `numerator` and `denominator`. */
export function numberAttribute(value: bigint | number, name: string): Value | undefined {
  if (name === 'real') return value
  if (name === 'imag') return typeof value === 'bigint' ? 0n : 0
  if (typeof value !== 'bigint') return undefined
  return name === 'numerator' ? value : name === 'denominator' ? 1n : undefined
}
