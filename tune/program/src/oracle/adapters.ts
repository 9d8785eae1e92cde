/** Ops that adapters need besides products, in float64. */
import { uniform } from '@cairn-tune/ops'
import { at, fill, get, multiply, number, sizes, zeros, type Define, type Inputs } from './matrix.ts'
import { keyOf } from './rounding.ts'

export const dropout: Define = (inputs, attrs) => {
  const { stream, ...key } = keyOf(get(inputs, 'random'), number(attrs, 'stream') >>> 0)
  const rate = Math.fround(number(attrs, 'rate'))
  const isKept = (i: number) => uniform({ ...key, op: stream }, i) >= rate
  return { y: get(inputs, 'x').values.map((value, i) => (isKept(i) ? value / (1 - rate) : 0)) }
}

export const rowNorms: Define = (inputs, attrs) => {
  const weight = get(inputs, 'weight')
  const [rows, columns] = sizes(weight)
  const { a, b } = inputs
  const change = a && b ? multiply(b, a).values : zeros(weight.values.length)
  const adapted = weight.values.map((value, i) => value + number(attrs, 'alpha') * at(change, i))
  return { y: fill(rows, n => Math.hypot(...adapted.subarray(n * columns, (n + 1) * columns))) }
}

/** Bias and addend of element i of an output with `columns` columns. */
const addedTo = (inputs: Inputs, columns: number) => (i: number) =>
  (inputs.bias ? at(inputs.bias.values, i % columns) : 0) + (inputs.addend ? at(inputs.addend.values, i) : 0)

export const scaleColumns: Define = inputs => {
  const x = get(inputs, 'x')
  const [, columns] = sizes(x)
  const [weight, norms] = [get(inputs, 'weight').values, get(inputs, 'norms').values]
  const added = addedTo(inputs, columns)
  return {
    y: x.values.map((value, i) => (value * at(weight, i % columns)) / at(norms, i % columns) + added(i)),
  }
}

export const scaleColumnsWeightGrad: Define = inputs => {
  const x = get(inputs, 'x')
  const [rows, columns] = sizes(x)
  const dy = get(inputs, 'dy').values
  const sumOf = (n: number) =>
    fill(rows, t => at(dy, t * columns + n) * at(x.values, t * columns + n)).reduce((a, b) => a + b, 0)
  return { dweight: fill(columns, n => sumOf(n) / at(get(inputs, 'norms').values, n)) }
}

export const adapterColumns: Define = inputs => {
  const factors = get(inputs, 'factors')
  const [, columns] = sizes(factors)
  const adapters = get(inputs, 'adapters').values
  const added = addedTo(inputs, columns)
  return {
    y: get(inputs, 'x').values.map((value, i) => {
      const adapter = at(adapters, Math.floor(i / columns))
      const factor = adapter < 0 ? 1 : at(factors.values, adapter * columns + (i % columns))
      return (value + at(get(inputs, 'delta').values, i)) * factor + added(i)
    }),
  }
}
