/** The oracle's values: float64 numbers with a shape. */
import type { Attrs, Shape } from '@cairn-tune/ops'

export type Matrix = { shape: Shape; values: Float64Array }

export type Inputs = Readonly<Record<string, Matrix | undefined>>

/** The definition of an op: inputs and attributes → the values of each output. */
export type Define = (inputs: Inputs, attrs: Attrs) => Record<string, Float64Array>

export function get(inputs: Inputs, name: string): Matrix {
  const matrix = inputs[name]
  if (!matrix) throw new Error(`the oracle has no value for ${name}`)
  return matrix
}

export const at = (values: Float64Array, index: number) => values[index] ?? NaN

export const zeros = (count: number) => new Float64Array(count)

/** values[i] for each i, as a function of i. */
export const fill = (count: number, value: (i: number) => number) =>
  Float64Array.from({ length: count }, (_, i) => value(i))

/** Number of rows and columns of a matrix. */
export const sizes = ({ shape }: Matrix): [number, number] => [shape[0] ?? 1, shape[1] ?? 1]

/** An attribute. 0 if absent. */
export const number = (attrs: Attrs, name: string) => Number(attrs[name] ?? 0)

/** A matrix with every number multiplied by a factor. */
export const times = ({ shape, values }: Matrix, factor: number): Matrix => ({
  shape,
  values: values.map(value => factor * value),
})

/** A number capped by tanh, unless the cap is 0. */
export const capped = (value: number, cap: number): number =>
  cap === 0 ? value : cap * Math.tanh(value / cap)
/** The derivative of `capped`, from its result. */
export const slopeOfCap = (result: number, cap: number): number => (cap === 0 ? 1 : 1 - (result / cap) ** 2)

/** a·b with either of them transposed; both row-major. */
export function multiply(a: Matrix, b: Matrix, transposed: { a?: boolean; b?: boolean } = {}): Matrix {
  const [aRows, aColumns] = sizes(a)
  const [bRows, bColumns] = sizes(b)
  const [m, k] = transposed.a ? [aColumns, aRows] : [aRows, aColumns]
  const n = transposed.b ? bRows : bColumns
  const values = zeros(m * n)
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0
      for (let l = 0; l < k; l++)
        sum +=
          at(a.values, transposed.a ? l * aColumns + i : i * aColumns + l) *
          at(b.values, transposed.b ? j * bColumns + l : l * bColumns + j)
      values[i * n + j] = sum
    }
  }
  return { shape: [m, n], values }
}
