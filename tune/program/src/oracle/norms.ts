/** Norms, rotated heads and their gradients, in float64. */
import type { Attrs } from '@cairn-tune/ops'
import { at, fill, get, number, sizes, zeros, type Define, type Inputs, type Matrix } from './matrix.ts'

/** The rows of x divided by their root mean square, and the reciprocals of those. */
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

/** The factor of column i in a norm. */
const factor = (inputs: Inputs, attrs: Attrs, i: number) =>
  number(attrs, 'weight_offset') + at(get(inputs, 'weight').values, i)

export const rmsNorm: Define = (inputs, attrs) => {
  const [, columns] = sizes(get(inputs, 'x'))
  const { normed, rstd } = normalise(get(inputs, 'x').values, columns, number(attrs, 'eps'))
  return { y: fill(normed.length, i => at(normed, i) * factor(inputs, attrs, i % columns)), rstd }
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

export const rmsNormGrad: Define = (inputs, attrs) => {
  const [, columns] = sizes(get(inputs, 'x'))
  const scaled = get(inputs, 'dy').values.map((d, i) => d * factor(inputs, attrs, i % columns))
  const dx = normaliseGrad(scaled, get(inputs, 'x').values, get(inputs, 'rstd').values, columns)
  const addend = inputs['addend']?.values
  return { dx: addend ? dx.map((value, i) => at(addend, i) + value) : dx }
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

/** Rotates each head of x by its position; `direction` −1 rotates back. */
function rotate(inputs: Inputs, x: Matrix, attrs: Attrs, direction: number): Float64Array {
  const heads = number(attrs, 'heads')
  const isInterleaved = number(attrs, 'interleaved') !== 0
  const [, columns] = sizes(x)
  const width = columns / heads
  const { values: table } = get(inputs, 'cos_sin')
  const [, rotated] = sizes(get(inputs, 'cos_sin'))
  const half = rotated / 2
  return fill(x.values.length, i => {
    const row = at(get(inputs, 'positions').values, Math.floor(i / columns)) * rotated
    const lane = i % width
    if (lane >= rotated) return at(x.values, i)
    const pair = isInterleaved ? Math.floor(lane / 2) : lane % half
    const distance = isInterleaved ? 1 : half
    const cosine = at(table, row + pair)
    const sine = direction * at(table, row + half + pair)
    return (isInterleaved ? lane % 2 === 0 : lane < half)
      ? at(x.values, i) * cosine - at(x.values, i + distance) * sine
      : at(x.values, i - distance) * sine + at(x.values, i) * cosine
  })
}

const headWidth = (inputs: Inputs, heads: number) => sizes(get(inputs, 'x'))[1] / heads

export const qkNormRope: Define = (inputs, attrs) => {
  const x = get(inputs, 'x')
  const heads = number(attrs, 'heads')
  const width = headWidth(inputs, heads)
  const { weight } = inputs
  if (!weight) return { y: rotate(inputs, x, attrs, 1), rstd: fill(x.values.length / width, () => 1) }
  const { normed, rstd } = normalise(x.values, width, number(attrs, 'eps'))
  return {
    y: rotate(
      inputs,
      { shape: x.shape, values: normed.map((v, i) => v * factor(inputs, attrs, i % width)) },
      attrs,
      1,
    ),
    rstd,
  }
}

export const qkNormRopeGrad: Define = (inputs, attrs) => {
  const heads = number(attrs, 'heads')
  const width = headWidth(inputs, heads)
  const back = rotate(inputs, get(inputs, 'dy'), attrs, -1)
  const { weight } = inputs
  if (!weight) return { dx: back }
  return {
    dx: normaliseGrad(
      back.map((d, i) => d * factor(inputs, attrs, i % width)),
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
      rotate(inputs, get(inputs, 'dy'), attrs, -1),
      get(inputs, 'x').values,
      get(inputs, 'rstd').values,
      headWidth(inputs, heads),
    ),
  }
}
