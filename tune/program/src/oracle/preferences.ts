/** Ops of preference training, in float64. */
import type { Attrs } from '@cairn-tune/ops'
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
} from './matrix.ts'

/** Logits of each row, their log-sum-exp, and the weight times the scale of logits. */
function logitsOf(inputs: Inputs, attrs: Attrs) {
  const weight = times(get(inputs, 'weight'), number(attrs, 'scale') || 1)
  const vocab = sizes(weight)[0]
  const cap = number(attrs, 'softcap')
  const logits = multiply(get(inputs, 'x'), weight, { b: true }).values.map(z => capped(z, cap))
  const rows = Array.from({ length: logits.length / vocab }, (_, t) =>
    logits.subarray(t * vocab, (t + 1) * vocab),
  )
  const totals = rows.map(row => {
    const max = row.reduce((a, b) => Math.max(a, b), -Infinity)
    return max + Math.log(row.reduce((sum, z) => sum + Math.exp(z - max), 0))
  })
  return { rows, totals, vocab, weight, cap, targets: get(inputs, 'targets').values }
}

export const tokenLogps: Define = (inputs, attrs) => {
  const { rows, totals, targets } = logitsOf(inputs, attrs)
  const isScored = (t: number) => at(targets, t) !== -100
  return {
    logps: fill(rows.length, t =>
      isScored(t) ? at(rows[t] ?? zeros(0), at(targets, t)) - (totals[t] ?? NaN) : 0,
    ),
    lse: fill(rows.length, t => (isScored(t) ? (totals[t] ?? NaN) : 0)),
  }
}

export const tokenLogpsGrad: Define = (inputs, attrs) => {
  const { rows, totals, targets, vocab, weight, cap } = logitsOf(inputs, attrs)
  const dlogps = get(inputs, 'dlogps').values
  const dlogits = fill(rows.length * vocab, i => {
    const [t, v] = [Math.floor(i / vocab), i % vocab]
    if (at(targets, t) === -100) return 0
    const z = at(rows[t] ?? zeros(0), v)
    const probability = Math.exp(z - (totals[t] ?? NaN))
    return at(dlogps, t) * (Number(v === at(targets, t)) - probability) * slopeOfCap(z, cap)
  })
  return { dx: multiply({ shape: [rows.length, vocab], values: dlogits }, weight).values }
}

export const segmentSums: Define = (inputs, attrs) => {
  const y = zeros(number(attrs, 'count'))
  for (const [t, s] of get(inputs, 'segments').values.entries())
    if (s >= 0) y[s] = at(y, s) + at(get(inputs, 'x').values, t)
  return { y }
}

export const segmentSumsGrad: Define = inputs => ({
  dx: get(inputs, 'segments').values.map(s => (s < 0 ? 0 : at(get(inputs, 'dy').values, s))),
})

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/** Losses of one margin and their slopes, by kind. */
const MARGIN_LOSSES: readonly ((m: number, beta: number, smoothing: number) => [number, number])[] = [
  (m, beta, s) => [
    -(1 - s) * Math.log(sigmoid(beta * m)) - s * Math.log(sigmoid(-beta * m)),
    beta * (s - 1 + sigmoid(beta * m)),
  ],
  (m, beta) => [Math.max(0, 1 - beta * m), beta * m < 1 ? -beta : 0],
  (m, beta) => [(m - 1 / (2 * beta)) ** 2, 2 * (m - 1 / (2 * beta))],
]

export const dpoLoss: Define = (inputs, attrs) => {
  const [scores, reference, weights] = ['scores', 'reference', 'weights'].map(
    name => get(inputs, name).values,
  ) as [Float64Array, Float64Array, Float64Array]
  const lengthOf = (s: number) => (inputs.lengths ? at(inputs.lengths.values, s) : 1)
  const of = MARGIN_LOSSES[number(attrs, 'kind')]
  if (!of) throw new Error(`[dpo_loss] unknown kind ${number(attrs, 'kind')}`)
  const dscores = zeros(scores.length)
  let loss = 0
  for (const [p, weight] of weights.entries()) {
    if (weight === 0) continue
    const ratio = (s: number) => (at(scores, s) - at(reference, s)) / lengthOf(s)
    const [value, slope] = of(
      ratio(2 * p) - ratio(2 * p + 1),
      number(attrs, 'beta'),
      number(attrs, 'label_smoothing'),
    )
    loss += weight * value
    dscores[2 * p] = (weight * slope) / lengthOf(2 * p)
    dscores[2 * p + 1] = (-weight * slope) / lengthOf(2 * p + 1)
  }
  return { loss: Float64Array.of(loss), dscores }
}

export const ktoLoss: Define = (inputs, attrs) => {
  const [weights, beta] = [get(inputs, 'weights').values, number(attrs, 'beta')]
  const baseline = at(get(inputs, 'baseline').values, 0)
  const wanted = weights.map((w, s) => {
    const ratio = at(get(inputs, 'scores').values, s) - at(get(inputs, 'reference').values, s)
    return sigmoid(Math.sign(w) * beta * (ratio - baseline))
  })
  return {
    loss: Float64Array.of(weights.reduce((sum, w, s) => sum + Math.abs(w) * (1 - at(wanted, s)), 0)),
    dscores: weights.map((w, s) => -w * beta * at(wanted, s) * (1 - at(wanted, s))),
  }
}

export const orpoLoss: Define = (inputs, attrs) => {
  const [scores, lengths, weights, likelihood, shares] = [
    'scores',
    'lengths',
    'weights',
    'likelihood',
    'shares',
  ].map(name => get(inputs, name).values) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]
  const beta = number(attrs, 'beta')
  const dscores = zeros(scores.length)
  let loss = 0
  for (const [p, weight] of weights.entries()) {
    loss -= at(shares, p) * at(likelihood, p)
    if (weight === 0) continue
    const mean = (s: number) => at(scores, s) / at(lengths, s)
    const [a, b] = [mean(2 * p), mean(2 * p + 1)]
    const odds = a - b - Math.log(1 - Math.exp(a)) + Math.log(1 - Math.exp(b))
    loss -= weight * beta * Math.log(sigmoid(odds))
    const slope = -weight * beta * (1 - sigmoid(odds))
    dscores[2 * p] = slope / (1 - Math.exp(a)) / at(lengths, 2 * p)
    dscores[2 * p + 1] = -slope / (1 - Math.exp(b)) / at(lengths, 2 * p + 1)
  }
  return { loss: Float64Array.of(loss), dscores, dlikelihood: shares.map(share => -share) }
}
