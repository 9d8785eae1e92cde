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

/** What a norm multiplies column i by. */
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

/** Rotates each head of x by its position; `direction` −1 rotates back. */
function rotate(inputs: Inputs, x: Matrix, heads: number, direction: number): Float64Array {
  const [, columns] = sizes(x)
  const width = columns / heads
  const { values: table } = get(inputs, 'cos_sin')
  const [, rotated] = sizes(get(inputs, 'cos_sin'))
  const half = rotated / 2
  return fill(x.values.length, i => {
    const row = at(get(inputs, 'positions').values, Math.floor(i / columns)) * rotated
    const lane = i % width
    if (lane >= rotated) return at(x.values, i)
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
      { shape: x.shape, values: normed.map((v, i) => v * factor(inputs, attrs, i % width)) },
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
      rotate(inputs, get(inputs, 'dy'), heads, -1),
      get(inputs, 'x').values,
      get(inputs, 'rstd').values,
      headWidth(inputs, heads),
    ),
  }
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/** A function and its derivative. */
type Activation = { value: (g: number) => number; slope: (g: number) => number }

const silu: Activation = {
  value: g => g * sigmoid(g),
  slope: g => sigmoid(g) * (1 + g * (1 - sigmoid(g))),
}

const bend = (g: number) => Math.tanh(Math.sqrt(2 / Math.PI) * (g + 0.044715 * g ** 3))
const gelu: Activation = {
  value: g => (g * (1 + bend(g))) / 2,
  slope: g =>
    (1 + bend(g)) / 2 + ((g * (1 - bend(g) ** 2)) / 2) * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * g ** 2),
}

const glu =
  ({ value }: Activation): Define =>
  inputs => ({
    y: get(inputs, 'gate').values.map((g, i) => value(g) * at(get(inputs, 'up').values, i)),
  })

const gluGrad =
  ({ value, slope }: Activation): Define =>
  inputs => {
    const [dy, gate, up] = [get(inputs, 'dy').values, get(inputs, 'gate').values, get(inputs, 'up').values]
    return {
      dgate: gate.map((g, i) => at(dy, i) * at(up, i) * slope(g)),
      dup: gate.map((g, i) => at(dy, i) * value(g)),
    }
  }

export const swiglu = glu(silu)
export const swigluGrad = gluGrad(silu)
export const geglu = glu(gelu)
export const gegluGrad = gluGrad(gelu)

/** A pair of clamped_glu: gate and up as they count, and whether each was let through as it is. */
function clampedPair(inputs: Inputs, attrs: Attrs, i: number) {
  const [limit, x] = [number(attrs, 'limit'), get(inputs, 'x').values]
  const [gate, up] = [at(x, 2 * i), at(x, 2 * i + 1)]
  return {
    g: Math.min(gate, limit),
    u: Math.min(Math.max(up, -limit), limit),
    passes: [gate <= limit, Math.abs(up) <= limit] as const,
  }
}

export const clampedGlu: Define = (inputs, attrs) => ({
  y: fill(get(inputs, 'x').values.length / 2, i => {
    const { g, u } = clampedPair(inputs, attrs, i)
    return (1 + u) * g * sigmoid(number(attrs, 'alpha') * g)
  }),
})

export const clampedGluGrad: Define = (inputs, attrs) => ({
  dx: fill(get(inputs, 'x').values.length, i => {
    const { g, u, passes } = clampedPair(inputs, attrs, Math.floor(i / 2))
    const [dy, alpha] = [at(get(inputs, 'dy').values, Math.floor(i / 2)), number(attrs, 'alpha')]
    const s = sigmoid(alpha * g)
    if (i % 2 === 1) return passes[1] ? dy * g * s : 0
    return passes[0] ? dy * (1 + u) * s * (1 + alpha * g * (1 - s)) : 0
  }),
})
