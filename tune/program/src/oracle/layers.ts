/** Meaning of the ops of a layer, in float64. */
import type { Attrs } from '@cairn-tune/ops'
import { keyOf, roundByBlocks, roundByTensor } from './rounding.ts'
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

export const embed: Define = inputs => {
  const [, columns] = sizes(get(inputs, 'table'))
  const ids = get(inputs, 'ids').values
  return {
    y: fill(ids.length * columns, i =>
      at(get(inputs, 'table').values, at(ids, Math.floor(i / columns)) * columns + (i % columns)),
    ),
  }
}

export const embedGrad: Define = (inputs, attrs) => {
  const dy = get(inputs, 'dy')
  const [rows, columns] = sizes(dy)
  const dtable = zeros(number(attrs, 'vocab') * columns)
  for (let t = 0; t < rows; t++) {
    for (let i = 0; i < columns; i++) {
      const to = at(get(inputs, 'ids').values, t) * columns + i
      dtable[to] = at(dtable, to) + at(dy.values, t * columns + i)
    }
  }
  return { dtable }
}

/** The rows of x, each divided by its root mean square; and one over those. */
function normalise(
  x: Float64Array,
  width: number,
  eps: number,
): { normed: Float64Array; rstd: Float64Array } {
  const rstd = fill(
    x.length / width,
    row =>
      1 /
      Math.sqrt(x.subarray(row * width, (row + 1) * width).reduce((sum, v) => sum + v * v, 0) / width + eps),
  )
  return { normed: fill(x.length, i => at(x, i) * at(rstd, Math.floor(i / width))), rstd }
}

export const rmsNorm: Define = (inputs, attrs) => {
  const [, columns] = sizes(get(inputs, 'x'))
  const { normed, rstd } = normalise(get(inputs, 'x').values, columns, number(attrs, 'eps'))
  return { y: fill(normed.length, i => at(normed, i) * at(get(inputs, 'weight').values, i % columns)), rstd }
}

/** Gradient of x through a norm of rows of `width`, given that of the product with the weight. */
function normaliseGrad(
  scaled: Float64Array,
  x: Float64Array,
  rstd: Float64Array,
  width: number,
): Float64Array {
  const pull = fill(rstd.length, row => {
    let sum = 0
    for (let i = row * width; i < (row + 1) * width; i++) sum += at(scaled, i) * at(x, i)
    return (sum * at(rstd, row) ** 2) / width
  })
  return fill(x.length, i => {
    const row = Math.floor(i / width)
    return at(rstd, row) * (at(scaled, i) - at(x, i) * at(pull, row))
  })
}

export const rmsNormGrad: Define = inputs => {
  const [, columns] = sizes(get(inputs, 'x'))
  const scaled = get(inputs, 'dy').values.map((d, i) => d * at(get(inputs, 'weight').values, i % columns))
  return { dx: normaliseGrad(scaled, get(inputs, 'x').values, get(inputs, 'rstd').values, columns) }
}

/** Sum over rows of d · x · rstd. */
function weightGrad(d: Float64Array, x: Float64Array, rstd: Float64Array, width: number): Float64Array {
  const sum = zeros(width)
  for (let i = 0; i < x.length; i++)
    sum[i % width] = at(sum, i % width) + at(d, i) * at(x, i) * at(rstd, Math.floor(i / width))
  return sum
}

export const rmsNormWeightGrad: Define = inputs => {
  const [, columns] = sizes(get(inputs, 'x'))
  return {
    dweight: weightGrad(
      get(inputs, 'dy').values,
      get(inputs, 'x').values,
      get(inputs, 'rstd').values,
      columns,
    ),
  }
}

/**
 * The left operand as the arithmetic rounds it; f32 and bf16 are left to the tolerance of what is compared.
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
  (turned: { a?: boolean; b?: boolean }): Define =>
  (inputs, attrs) => {
    const first = multiply(roundedLeft(inputs, attrs), get(inputs, 'b'), turned).values
    const second = inputs.a2 && inputs.b2 ? multiply(inputs.a2, inputs.b2, turned).values : undefined
    return {
      y: fill(
        first.length,
        i =>
          number(attrs, 'alpha') * (at(first, i) + (second ? at(second, i) : 0)) +
          (inputs.addend ? at(inputs.addend.values, i) : 0),
      ),
    }
  }
export const matmulNt = matmul({ b: true })
export const matmulNn = matmul({})
export const matmulTn = matmul({ a: true })

/** Turns each head of x by its position; `direction` −1 turns back. */
function rotate(inputs: Inputs, x: Matrix, heads: number, direction: number): Float64Array {
  const [, columns] = sizes(x)
  const width = columns / heads
  const half = width / 2
  const { values: table } = get(inputs, 'cos_sin')
  return fill(x.values.length, i => {
    const row = at(get(inputs, 'positions').values, Math.floor(i / columns)) * width
    const lane = i % width
    const cosine = at(table, row + (lane % half))
    const sine = direction * at(table, row + half + (lane % half))
    return lane < half
      ? at(x.values, i) * cosine - at(x.values, i + half) * sine
      : at(x.values, i - half) * sine + at(x.values, i) * cosine
  })
}

const headWidth = (inputs: Inputs, heads: number) => sizes(get(inputs, 'x'))[1] / heads

export const qkNormRope: Define = (inputs, attrs) => {
  const x = get(inputs, 'x')
  const heads = number(attrs, 'heads')
  const width = headWidth(inputs, heads)
  const { weight } = inputs
  if (!weight) return { y: rotate(inputs, x, heads, 1), rstd: fill(x.values.length / width, () => 1) }
  const { normed, rstd } = normalise(x.values, width, number(attrs, 'eps'))
  return {
    y: rotate(
      inputs,
      { shape: x.shape, values: normed.map((v, i) => v * at(weight.values, i % width)) },
      heads,
      1,
    ),
    rstd,
  }
}

export const qkNormRopeGrad: Define = (inputs, attrs) => {
  const heads = number(attrs, 'heads')
  const width = headWidth(inputs, heads)
  const back = rotate(inputs, get(inputs, 'dy'), heads, -1)
  const { weight } = inputs
  if (!weight) return { dx: back }
  return {
    dx: normaliseGrad(
      back.map((d, i) => d * at(weight.values, i % width)),
      get(inputs, 'x').values,
      get(inputs, 'rstd').values,
      width,
    ),
  }
}

export const qkNormRopeWeightGrad: Define = (inputs, attrs) => {
  const heads = number(attrs, 'heads')
  return {
    dweight: weightGrad(
      rotate(inputs, get(inputs, 'dy'), heads, -1),
      get(inputs, 'x').values,
      get(inputs, 'rstd').values,
      headWidth(inputs, heads),
    ),
  }
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

export const swiglu: Define = inputs => {
  const { gate, up } = { gate: get(inputs, 'gate').values, up: get(inputs, 'up').values }
  return { y: gate.map((g, i) => g * sigmoid(g) * at(up, i)) }
}

export const swigluGrad: Define = inputs => {
  const { dy, gate, up } = {
    dy: get(inputs, 'dy').values,
    gate: get(inputs, 'gate').values,
    up: get(inputs, 'up').values,
  }
  return {
    dgate: gate.map((g, i) => at(dy, i) * at(up, i) * sigmoid(g) * (1 + g * (1 - sigmoid(g)))),
    dup: gate.map((g, i) => at(dy, i) * g * sigmoid(g)),
  }
}
