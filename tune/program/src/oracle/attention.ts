/** Attention, head and loss in float64, with every probability computed explicitly. */
import {
  at,
  capped,
  fill,
  get,
  multiply,
  number,
  sizes,
  slopeOfCap,
  times,
  zeros,
  type Define,
  type Inputs,
  type Matrix,
} from './matrix.ts'
import type { Attrs } from '@cairn-tune/ops'

type Visit = { head: number; keyHead: number; query: number; keys: number[]; scores: number[] }

/** Calls `visit` for every query of every head with its visible keys and their scaled scores. */
function overQueries(inputs: Inputs, attrs: Attrs, visit: (one: Visit) => void): void {
  const { heads, width, keyHeads } = headSizes(inputs, attrs)
  const [q, k] = [get(inputs, 'q').values, get(inputs, 'k').values]
  const ends = get(inputs, 'cu_seqlens').values
  for (let document = 0; document + 1 < ends.length; document++) {
    for (let query = at(ends, document); query < at(ends, document + 1); query++) {
      for (let head = 0; head < heads; head++) {
        const keyHead = Math.floor((head * keyHeads) / heads)
        const window = number(attrs, 'window') || Infinity
        const first = Math.max(at(ends, document), query - window + 1)
        const keys = Array.from({ length: query - first + 1 }, (_, i) => first + i)
        const scores = keys.map(key =>
          capped(
            number(attrs, 'scale') *
              product(q, (query * heads + head) * width, k, (key * keyHeads + keyHead) * width, width),
            number(attrs, 'softcap'),
          ),
        )
        visit({ head, keyHead, query, keys, scores })
      }
    }
  }
}

function headSizes(inputs: Inputs, attrs: Attrs) {
  const [tokens, columns] = sizes(get(inputs, 'q'))
  const heads = number(attrs, 'heads')
  return { tokens, heads, width: columns / heads, keyHeads: number(attrs, 'kv_heads') }
}

function product(a: Float64Array, aFrom: number, b: Float64Array, bFrom: number, count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += at(a, aFrom + i) * at(b, bFrom + i)
  return sum
}

/** to[toFrom …] += factor · from[fromFrom …] */
function addScaled(
  to: Float64Array,
  toFrom: number,
  factor: number,
  from: Float64Array,
  fromFrom: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) to[toFrom + i] = at(to, toFrom + i) + factor * at(from, fromFrom + i)
}

function logSumExp(scores: ArrayLike<number>): number {
  const all = Array.from(scores)
  const max = all.reduce((a, b) => Math.max(a, b), -Infinity)
  return max + Math.log(all.reduce((sum, score) => sum + Math.exp(score - max), 0))
}

export const attention: Define = (inputs, attrs) => {
  const { tokens, heads, width, keyHeads } = headSizes(inputs, attrs)
  const y = zeros(tokens * heads * width)
  const lse = zeros(heads * tokens)
  overQueries(inputs, attrs, ({ head, keyHead, query, keys, scores }) => {
    const total = logSumExp(inputs.sinks ? [...scores, at(inputs.sinks.values, head)] : scores)
    lse[head * tokens + query] = total
    for (const [i, key] of keys.entries()) {
      addScaled(
        y,
        (query * heads + head) * width,
        Math.exp((scores[i] ?? 0) - total),
        get(inputs, 'v').values,
        (key * keyHeads + keyHead) * width,
        width,
      )
    }
  })
  return { y, lse }
}

export const attentionGrad: Define = (inputs, attrs) => {
  const { tokens, heads, width, keyHeads } = headSizes(inputs, attrs)
  const [dy, q, k, v, y, lse] = ['dy', 'q', 'k', 'v', 'y', 'lse'].map(name => get(inputs, name).values) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]
  const dq = zeros(q.length)
  const dk = zeros(k.length)
  const dv = zeros(v.length)
  overQueries(inputs, attrs, ({ head, keyHead, query, keys, scores }) => {
    const row = (query * heads + head) * width
    const delta = product(dy, row, y, row, width)
    for (const [i, key] of keys.entries()) {
      const column = (key * keyHeads + keyHead) * width
      const p = Math.exp((scores[i] ?? 0) - at(lse, head * tokens + query))
      const slope = number(attrs, 'scale') * slopeOfCap(scores[i] ?? 0, number(attrs, 'softcap'))
      const ds = p * (product(dy, row, v, column, width) - delta) * slope
      addScaled(dv, column, p, dy, row, width)
      addScaled(dk, column, ds, q, row, width)
      addScaled(dq, row, ds, k, column, width)
    }
  })
  return { dq, dk, dv }
}

export const sinksGrad: Define = (inputs, attrs) => {
  const heads = number(attrs, 'heads')
  const [tokens, columns] = sizes(get(inputs, 'y'))
  const [dy, y, lse] = [get(inputs, 'dy').values, get(inputs, 'y').values, get(inputs, 'lse').values]
  return {
    dsinks: fill(heads, head => {
      let sum = 0
      for (let t = 0; t < tokens; t++) {
        const row = t * columns + (head * columns) / heads
        const weight = Math.exp(at(get(inputs, 'sinks').values, head) - at(lse, head * tokens + t))
        sum -= weight * product(dy, row, y, row, columns / heads)
      }
      return sum
    }),
  }
}

export const headLoss: Define = (inputs, attrs) => {
  const [x, targets] = [get(inputs, 'x'), get(inputs, 'targets').values]
  const scale = number(attrs, 'scale') || 1
  const weight = times(get(inputs, 'weight'), scale)
  const vocab = sizes(weight)[0]
  const cap = number(attrs, 'softcap')
  const logits = multiply(x, weight, { b: true }).values.map(z => capped(z, cap))
  const rows = Array.from({ length: sizes(x)[0] }, (_, t) => logits.subarray(t * vocab, (t + 1) * vocab))
  const totals = rows.map(logSumExp)
  const losses = fill(rows.length, t =>
    at(targets, t) === -100 ? 0 : (totals[t] ?? 0) - at(rows[t] ?? zeros(0), at(targets, t)),
  )
  const dlogits: Matrix = {
    shape: [rows.length, vocab],
    values: fill(logits.length, i => {
      const t = Math.floor(i / vocab)
      if (at(targets, t) === -100) return 0
      const isTarget = i % vocab === at(targets, t)
      return (Math.exp(at(logits, i) - (totals[t] ?? 0)) - Number(isTarget)) * slopeOfCap(at(logits, i), cap)
    }),
  }
  return {
    loss: Float64Array.of(losses.reduce((sum, loss) => sum + loss, 0)),
    losses,
    dx: multiply(dlogits, weight).values,
    dweight: multiply(dlogits, times(x, scale), { a: true }).values,
  }
}
