/** Gradient ops of the oracle are the derivatives of its forward ops: central differences in float64. */
import { expect, test } from 'vitest'
import { uniform, type Attrs, type OpName } from '@cairn-tune/ops'
import { DEFINE } from './define.ts'
import type { Matrix } from './matrix.ts'

const random = (shape: number[], seed: number): Matrix => ({
  shape,
  values: Float64Array.from(
    { length: shape.reduce((a, b) => a * b, 1) },
    (_, i) => 2 * uniform({ seed, step: 0, op: 0 }, i) - 1,
  ),
})
const list = (...values: number[]): Matrix => ({ shape: [values.length], values: Float64Array.from(values) })

type Check = {
  forward: OpName
  inputs: Record<string, Matrix>
  attrs: Attrs
  output: string
  /** Name of the gradient's input for each output of the forward op that it reads. */
  saved?: string[]
  /** Gradient op, its attributes and, for each of its outputs, the input it is the gradient of. */
  backward: [op: OpName, attrs: Attrs, of: Record<string, string>][]
}

const rope = {
  x: random([5, 12], 1),
  weight: random([6], 2),
  positions: list(0, 1, 2, 0, 1),
  cos_sin: random([3, 6], 3),
}
const attentionInputs = {
  q: random([7, 8], 4),
  k: random([7, 4], 5),
  v: random([7, 4], 6),
  cu_seqlens: list(0, 3, 7),
}
const attentionAttrs = { heads: 4, kv_heads: 2, scale: 0.7 }
const checks: Check[] = [
  {
    forward: 'rms_norm',
    inputs: { x: random([3, 5], 7), weight: random([5], 8) },
    attrs: { eps: 0.01 },
    output: 'y',
    saved: ['rstd'],
    backward: [
      ['rms_norm_grad', {}, { dx: 'x' }],
      ['rms_norm_weight_grad', {}, { dweight: 'weight' }],
    ],
  },
  {
    forward: 'qk_norm_rope',
    inputs: rope,
    attrs: { heads: 2, eps: 0.01 },
    output: 'y',
    saved: ['rstd'],
    backward: [
      ['qk_norm_rope_grad', { heads: 2 }, { dx: 'x' }],
      ['qk_norm_rope_weight_grad', { heads: 2 }, { dweight: 'weight' }],
    ],
  },
  {
    forward: 'swiglu',
    inputs: { gate: random([2, 5], 9), up: random([2, 5], 10) },
    attrs: {},
    output: 'y',
    backward: [['swiglu_grad', {}, { dgate: 'gate', dup: 'up' }]],
  },
  {
    forward: 'attention',
    inputs: attentionInputs,
    attrs: attentionAttrs,
    output: 'y',
    saved: ['y', 'lse'],
    backward: [['attention_grad', attentionAttrs, { dq: 'q', dk: 'k', dv: 'v' }]],
  },
  {
    forward: 'attention',
    inputs: attentionInputs,
    attrs: { ...attentionAttrs, softcap: 0.8 },
    output: 'y',
    saved: ['y', 'lse'],
    backward: [['attention_grad', { ...attentionAttrs, softcap: 0.8 }, { dq: 'q', dk: 'k', dv: 'v' }]],
  },
  {
    forward: 'embed',
    inputs: { table: random([4, 3], 11), ids: list(2, 0, 2) },
    attrs: {},
    output: 'y',
    backward: [['embed_grad', { vocab: 4 }, { dtable: 'table' }]],
  },
]

/** Derivative of the sum of output · dy by each number of an input. */
function differences(check: Check, name: string, dy: Float64Array): number[] {
  const step = 1e-5
  return Array.from(check.inputs[name]?.values ?? [], (_, i) => {
    const [up, down] = [step, -step].map(change => {
      const values = check.inputs[name]!.values.map((value, j) => (j === i ? value + change : value))
      const y = DEFINE[check.forward](
        { ...check.inputs, [name]: { ...check.inputs[name]!, values } },
        check.attrs,
      )[check.output]!
      return y.reduce((sum, value, j) => sum + value * dy[j]!, 0)
    })
    return (up! - down!) / (2 * step)
  })
}

const close = (actual: ArrayLike<number>, expected: number[]) => {
  expect(actual.length).toBe(expected.length)
  for (const [i, value] of expected.entries()) expect(actual[i]).toBeCloseTo(value, 7)
}

test.each(checks.flatMap(check => check.backward.map(([op, attrs, of]) => [op, check, attrs, of] as const)))(
  '%s',
  (op, check, attrs, of) => {
    const outputs = DEFINE[check.forward](check.inputs, check.attrs)
    const dy = random([outputs[check.output]!.length], 20)
    const saved = Object.fromEntries(
      (check.saved ?? []).map(name => [name, { shape: [outputs[name]!.length], values: outputs[name]! }]),
    )
    const shaped = { ...dy, shape: (check.inputs.x ?? check.inputs.q ?? check.inputs.gate)?.shape ?? [3, 3] }
    const grads = DEFINE[op]({ ...check.inputs, ...saved, dy: shaped }, attrs)
    for (const [output, input] of Object.entries(of))
      close(grads[output]!, differences(check, input, dy.values))
  },
)

test('head_loss gives the gradients of its loss', () => {
  const inputs = { x: random([4, 3], 12), weight: random([6, 3], 13), targets: list(2, -100, 5, 0) }
  const attrs = { scale: 0.7, softcap: 0.9 }
  const check: Check = { forward: 'head_loss_trained', inputs, attrs, output: 'loss', backward: [] }
  const grads = DEFINE.head_loss_trained(inputs, attrs)
  close(grads.dx!, differences(check, 'x', Float64Array.of(1)))
  close(grads.dweight!, differences(check, 'weight', Float64Array.of(1)))
  expect(grads.losses?.[1]).toBe(0)
})

const pairs = {
  scores: list(-3, -9, -2.5, -4, 1, 1),
  reference: list(-4, -8, -3, -3, 1, 1),
  weights: list(1, 0.5, 0),
}
const lengths = list(3, 7, 2, 5, 0, 0)
test.each([
  ['dpo_loss', pairs, { kind: 0, beta: 0.3, label_smoothing: 0.2 }],
  ['dpo_loss', pairs, { kind: 1, beta: 0.3 }],
  ['dpo_loss', { ...pairs, lengths }, { kind: 2, beta: 0.3 }],
  ['kto_loss', { ...pairs, weights: list(1, -1, 2, -0.5, 0, 0), baseline: list(0.4) }, { beta: 0.3 }],
  [
    'orpo_loss',
    { ...pairs, lengths, likelihood: list(-30, -10, 0), shares: list(0.25, 0.1, 0) },
    { beta: 0.4 },
  ],
] as const)('%s gives the gradients of its loss (%#)', (op, inputs, attrs) => {
  const check: Check = { forward: op, inputs, attrs, output: 'loss', backward: [] }
  const grads = DEFINE[op](inputs, attrs)
  expect(grads.dscores?.some(slope => slope !== 0)).toBe(true)
  close(grads.dscores!, differences(check, 'scores', Float64Array.of(1)))
  if (grads.dlikelihood) close(grads.dlikelihood, differences(check, 'likelihood', Float64Array.of(1)))
})

test('token_logps_grad and segment_sums_grad are the derivatives of token_logps and segment_sums', () => {
  const scored = { x: random([4, 3], 21), weight: random([6, 3], 22), targets: list(2, -100, 5, 0) }
  const attrs = { scale: 0.7, softcap: 0.9 }
  const logps: Check = { forward: 'token_logps', inputs: scored, attrs, output: 'logps', backward: [] }
  const dlogps = random([4], 23)
  close(DEFINE.token_logps_grad({ ...scored, dlogps }, attrs).dx!, differences(logps, 'x', dlogps.values))
  const summed = { x: random([5], 24), segments: list(1, -1, 1, 0, 2) }
  const sums: Check = {
    forward: 'segment_sums',
    inputs: summed,
    attrs: { count: 3 },
    output: 'y',
    backward: [],
  }
  const dy = random([3], 25)
  close(DEFINE.segment_sums_grad({ ...summed, dy }, {}).dx!, differences(sums, 'x', dy.values))
})

test('the three matmuls are one linear layer and its two gradients', () => {
  const inputs = {
    a: random([3, 4], 14),
    b: random([5, 4], 15),
    a2: random([3, 2], 16),
    b2: random([5, 2], 17),
  }
  const check: Check = { forward: 'matmul_nt', inputs, attrs: { alpha: 0.5 }, output: 'y', backward: [] }
  const dy = random([3, 5], 18)
  close(DEFINE.matmul_nn({ a: dy, b: inputs.b }, { alpha: 0.5 }).y!, differences(check, 'a', dy.values))
  close(DEFINE.matmul_tn({ a: dy, b: inputs.a }, { alpha: 0.5 }).y!, differences(check, 'b', dy.values))
  close(DEFINE.matmul_nn({ a: dy, b: inputs.b2 }, { alpha: 0.5 }).y!, differences(check, 'a2', dy.values))
  close(DEFINE.matmul_tn({ a: dy, b: inputs.a2 }, { alpha: 0.5 }).y!, differences(check, 'b2', dy.values))
})
