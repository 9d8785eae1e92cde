/** Ops of a mixture of experts, in float64. */
import type { Attrs } from '@cairn-tune/ops'
import { matmulNn, matmulNt, matmulTn } from './matmuls.ts'
import { at, fill, get, number, sizes, zeros, type Define, type Inputs, type Matrix } from './matrix.ts'

/** Softmax of a row over some of its indices, by index. */
function softmaxOf(values: Float64Array, indices: readonly number[]): Map<number, number> {
  const max = Math.max(...indices.map(i => at(values, i)))
  const powers = indices.map(i => Math.exp(at(values, i) - max))
  const sum = powers.reduce((a, b) => a + b, 0)
  return new Map(indices.map((i, place) => [i, (powers[place] ?? 0) / sum]))
}

const rowOf = (matrix: Matrix, row: number) => {
  const [, columns] = sizes(matrix)
  return matrix.values.subarray(row * columns, (row + 1) * columns)
}
const count = (n: number) => Array.from({ length: n }, (_, i) => i)

export const route: Define = (inputs, attrs) => {
  const logits = get(inputs, 'logits')
  const [rows, experts] = sizes(logits)
  const top_k = number(attrs, 'top_k')
  const [weights, ids] = [zeros(rows * top_k), zeros(rows * top_k)]
  for (let t = 0; t < rows; t++) {
    const row = rowOf(logits, t)
    const chosen = count(experts)
      .toSorted((a, b) => at(row, b) - at(row, a) || a - b)
      .slice(0, top_k)
    const shares = softmaxOf(row, number(attrs, 'softmax_over_all') === 0 ? chosen : count(experts))
    for (const [j, e] of chosen.entries()) {
      weights[t * top_k + j] =
        number(attrs, 'sigmoid') === 0 ? (shares.get(e) ?? 0) : 1 / (1 + Math.exp(-at(row, e)))
      ids[t * top_k + j] = e
    }
  }
  return { weights, ids }
}

export const routeGrad: Define = (inputs, attrs) => {
  const logits = get(inputs, 'logits')
  const [rows, experts] = sizes(logits)
  const dlogits = zeros(rows * experts)
  for (let t = 0; t < rows; t++) {
    const [ids, w, dw] = ['ids', 'weights', 'dweights'].map(name => rowOf(get(inputs, name), t))
    if (!ids || !w || !dw) continue
    if (number(attrs, 'sigmoid') !== 0) {
      for (const [j, e] of ids.entries()) dlogits[t * experts + e] = at(w, j) * (1 - at(w, j)) * at(dw, j)
      continue
    }
    const pull = w.reduce((sum, weight, j) => sum + weight * at(dw, j), 0)
    const shares = softmaxOf(
      rowOf(logits, t),
      number(attrs, 'softmax_over_all') === 0 ? [...ids] : count(experts),
    )
    for (const [e, share] of shares) {
      const j = ids.indexOf(e)
      dlogits[t * experts + e] = share * ((j < 0 ? 0 : at(dw, j)) - pull)
    }
  }
  return { dlogits }
}

export const expertOrder: Define = (inputs, attrs) => {
  const ids = get(inputs, 'ids')
  const [, top_k] = sizes(ids)
  const order = count(ids.values.length).toSorted((a, b) => at(ids.values, a) - at(ids.values, b) || a - b)
  const places = zeros(order.length)
  for (const [place, choice] of order.entries()) places[choice] = place
  return {
    ends: fill(number(attrs, 'experts'), e => ids.values.filter(id => id <= e).length),
    tokens: fill(order.length, place => Math.floor((order[place] ?? 0) / top_k)),
    places,
  }
}

export const expertRows: Define = inputs => {
  const [x, tokens] = [get(inputs, 'x'), get(inputs, 'tokens').values]
  const [, columns] = sizes(x)
  return {
    y: fill(tokens.length * columns, i =>
      at(x.values, at(tokens, Math.floor(i / columns)) * columns + (i % columns)),
    ),
  }
}

export const expertAdapters: Define = (inputs, attrs) => {
  const [adapters, tokens, ends] = ['adapters', 'tokens', 'ends'].map(name => get(inputs, name).values)
  return {
    y: fill(tokens?.length ?? 0, place => {
      const adapter = at(adapters ?? zeros(0), at(tokens ?? zeros(0), place))
      const expert = (ends ?? zeros(0)).findIndex(end => end > place)
      return adapter < 0 ? -1 : expert * number(attrs, 'slots') + adapter
    }),
  }
}

export const combine: Define = inputs => {
  const [z, places] = [get(inputs, 'z'), get(inputs, 'places')]
  const [[, columns], [rows, top_k]] = [sizes(z), sizes(places)]
  return {
    y: fill(rows * columns, i => {
      const t = Math.floor(i / columns)
      let sum = inputs.addend ? at(inputs.addend.values, i) : 0
      for (let j = 0; j < top_k; j++)
        sum +=
          (inputs.weights ? at(inputs.weights.values, t * top_k + j) : 1) *
          at(z.values, at(places.values, t * top_k + j) * columns + (i % columns))
      return sum
    }),
  }
}

export const combineGrad: Define = inputs => {
  const [dy, z, places, weights] = [
    get(inputs, 'dy'),
    get(inputs, 'z'),
    get(inputs, 'places').values,
    get(inputs, 'weights'),
  ]
  const [, columns] = sizes(z)
  const [, top_k] = sizes(weights)
  const dz = zeros(z.values.length)
  for (const [choice, place] of places.entries())
    for (let i = 0; i < columns; i++)
      dz[place * columns + i] =
        at(weights.values, choice) * at(dy.values, Math.floor(choice / top_k) * columns + i)
  return {
    dz,
    dweights: fill(places.length, choice => {
      const [from, row] = [rowOf(dy, Math.floor(choice / top_k)), rowOf(z, at(places, choice))]
      return from.reduce((sum, d, i) => sum + d * at(row, i), 0)
    }),
  }
}

/** Rows [first, end) of a matrix. Undefined stays undefined. */
const rowsOf = (matrix: Matrix | undefined, first: number, end: number): Matrix | undefined => {
  if (!matrix) return undefined
  const [, columns] = sizes(matrix)
  return { shape: [end - first, columns], values: matrix.values.subarray(first * columns, end * columns) }
}
/** Matrix e of a stack, or row e of a matrix. */
const partOf = (stack: Matrix | undefined, e: number): Matrix | undefined => {
  if (!stack) return undefined
  const [, ...shape] = stack.shape
  const size = shape.reduce((product, n) => product * n, 1)
  return { shape, values: stack.values.subarray(e * size, (e + 1) * size) }
}

/** Applies a matmul to the rows of each expert in turn. */
const byExpert =
  (matmul: Define, stacked: readonly string[]): Define =>
  (inputs, attrs) => {
    const ends = get(inputs, 'ends').values
    const parts = [...ends].map((end, e) => {
      const first = e === 0 ? 0 : at(ends, e - 1)
      const own: Inputs = Object.fromEntries(
        Object.entries(inputs).map(([name, value]) => [
          name,
          name === 'a_amax' || name === 'random' || name === 'ends'
            ? value
            : stacked.includes(name)
              ? partOf(value, e)
              : rowsOf(value, first, end),
        ]),
      )
      return [...(matmul(own, attrs).y ?? [])]
    })
    return { y: Float64Array.from(parts.flat()) }
  }

/** The same, with zeros for rows after the last expert. `axis` of b is that of the columns. */
const byRow =
  (matmul: Define, stacked: readonly string[], axis: number): Define =>
  (inputs, attrs) => {
    const [rows] = sizes(get(inputs, 'a'))
    const y = zeros(rows * (get(inputs, 'b').shape[axis] ?? 0))
    y.set(byExpert(matmul, stacked)(inputs, attrs).y ?? [])
    return { y }
  }
export const expertMatmulNt = byRow(matmulNt, ['b', 'b2', 'bias'], 1)
export const expertMatmulNn = byRow(matmulNn, ['b', 'b2'], 2)
export const expertMatmulTn = byExpert(matmulTn, [])

export const expertBiasGrad: Define = inputs => {
  const [dy, ends] = [get(inputs, 'dy'), get(inputs, 'ends').values]
  const [, columns] = sizes(dy)
  return {
    dbias: fill(ends.length * columns, i => {
      const e = Math.floor(i / columns)
      let sum = 0
      for (let row = e === 0 ? 0 : at(ends, e - 1); row < at(ends, e); row++)
        sum += at(dy.values, row * columns + (i % columns))
      return sum
    }),
  }
}

export const balanceSums: Define = inputs => {
  const [logits, ids] = [get(inputs, 'logits'), get(inputs, 'ids')]
  const [rows, experts] = sizes(logits)
  const sums = zeros(2 * experts)
  const add = (i: number, value: number) => void (sums[i] = at(sums, i) + value)
  for (let t = 0; t < rows; t++) {
    if (inputs.counted && at(inputs.counted.values, t) === 0) continue
    for (const e of rowOf(ids, t)) add(e, 1)
    for (const [e, p] of softmaxOf(rowOf(logits, t), count(experts))) add(experts + e, p)
  }
  return { sums }
}

export const balanceSumsGrad: Define = inputs => {
  const [logits, dsums] = [get(inputs, 'logits'), get(inputs, 'dsums').values]
  const [rows, experts] = sizes(logits)
  const dlogits = zeros(rows * experts)
  for (let t = 0; t < rows; t++) {
    if (inputs.counted && at(inputs.counted.values, t) === 0) continue
    const shares = softmaxOf(rowOf(logits, t), count(experts))
    let pull = 0
    for (const [e, p] of shares) pull += p * at(dsums, experts + e)
    for (const [e, p] of shares) dlogits[t * experts + e] = p * (at(dsums, experts + e) - pull)
  }
  return { dlogits }
}

const balanceFactor = (inputs: Inputs, attrs: Attrs): [sums: Float64Array, experts: number, by: number] => {
  const sums = get(inputs, 'sums')
  const [, experts] = sizes(sums)
  const rows = rowOf(sums, 0).reduce((sum, choices) => sum + choices, 0) / number(attrs, 'top_k')
  const scale = inputs.scale ? at(inputs.scale.values, 0) : 1
  return [sums.values, experts, rows > 0 ? (number(attrs, 'coefficient') * scale * experts) / rows ** 2 : 0]
}

export const balanceLoss: Define = (inputs, attrs) => {
  const [sums, experts, by] = balanceFactor(inputs, attrs)
  return {
    loss: Float64Array.of(
      by * count(experts).reduce((sum, e) => sum + at(sums, e) * at(sums, experts + e), 0),
    ),
    dsums: fill(2 * experts, i => (i < experts ? 0 : by * at(sums, i - experts))),
  }
}
