/** Lookups, matrix products and column selection, in float64. */
import type { Attrs } from '@cairn-tune/ops'
import {
  at,
  fill,
  get,
  multiply,
  number,
  sizes,
  zeros,
  type Define,
  type Inputs,
  type Matrix,
} from './matrix.ts'
import { keyOf, roundByBlocks, roundByTensor } from './rounding.ts'

export const embed: Define = (inputs, attrs) => {
  const [, columns] = sizes(get(inputs, 'table'))
  const ids = get(inputs, 'ids').values
  const scale = number(attrs, 'scale') || 1
  return {
    y: fill(
      ids.length * columns,
      i =>
        scale * at(get(inputs, 'table').values, at(ids, Math.floor(i / columns)) * columns + (i % columns)),
    ),
  }
}

export const embedGrad: Define = (inputs, attrs) => {
  const dy = get(inputs, 'dy')
  const [rows, columns] = sizes(dy)
  const dtable = zeros(number(attrs, 'vocab') * columns)
  const scale = number(attrs, 'scale') || 1
  for (let t = 0; t < rows; t++) {
    for (let i = 0; i < columns; i++) {
      const to = at(get(inputs, 'ids').values, t) * columns + i
      dtable[to] = at(dtable, to) + scale * at(dy.values, t * columns + i)
    }
  }
  return { dtable }
}

/**
 * The left operand, rounded as the arithmetic does. The rounding to f32 and bf16 is left to the tolerance of
 * the comparison.
 */
function roundedLeft(inputs: Inputs, attrs: Attrs): Matrix {
  const a = get(inputs, 'a')
  const amax = inputs.a_amax ? at(inputs.a_amax.values, 0) : 0
  const isGradient = attrs.stream !== undefined
  if (attrs.arithmetic === 'fp8_hybrid') return roundByTensor(a, isGradient ? 'e5m2' : 'e4m3', amax)
  if (attrs.arithmetic === 'nvfp4')
    return roundByBlocks(
      a,
      amax,
      isGradient && inputs.random ? keyOf(inputs.random, number(attrs, 'stream')) : undefined,
    )
  return a
}

const matmul =
  (transposed: { a?: boolean; b?: boolean }): Define =>
  (inputs, attrs) => {
    const first = multiply(roundedLeft(inputs, attrs), get(inputs, 'b'), transposed).values
    const second = inputs.a2 && inputs.b2 ? multiply(inputs.a2, inputs.b2, transposed).values : undefined
    return {
      y: fill(
        first.length,
        i =>
          number(attrs, 'alpha') * (at(first, i) + (second ? at(second, i) : 0)) +
          (inputs.bias ? at(inputs.bias.values, i % inputs.bias.values.length) : 0) +
          (inputs.addend ? at(inputs.addend.values, i) : 0),
      ),
    }
  }
export const matmulNt = matmul({ b: true })
export const matmulNn = matmul({})
export const matmulTn = matmul({ a: true })

export const biasGrad: Define = inputs => {
  const [, columns] = sizes(get(inputs, 'dy'))
  const dbias = zeros(columns)
  for (const [i, d] of get(inputs, 'dy').values.entries()) dbias[i % columns] = at(dbias, i % columns) + d
  return { dbias }
}

export const columns: Define = (inputs, attrs) => {
  const [, width] = sizes(get(inputs, 'x'))
  const [from, count] = [number(attrs, 'from'), number(attrs, 'count')]
  const rows = get(inputs, 'x').values.length / width
  return {
    y: fill(rows * count, i =>
      at(get(inputs, 'x').values, Math.floor(i / count) * width + from + (i % count)),
    ),
  }
}

export const columnsGrad: Define = (inputs, attrs) => {
  const [rows, part] = sizes(get(inputs, 'dy'))
  const [from, width] = [number(attrs, 'from'), number(attrs, 'count')]
  return {
    dx: fill(rows * width, i => {
      const column = (i % width) - from
      const own = column >= 0 && column < part
      return (
        (own ? at(get(inputs, 'dy').values, Math.floor(i / width) * part + column) : 0) +
        (inputs.addend ? at(inputs.addend.values, i) : 0)
      )
    }),
  }
}
