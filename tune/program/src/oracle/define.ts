/** The definition of every op in float64. An op without one does not compile. */
import type { OpName } from '@cairn-tune/ops'
import * as activations from './activations.ts'
import * as adapters from './adapters.ts'
import * as attention from './attention.ts'
import * as experts from './experts.ts'
import * as norms from './norms.ts'
import * as preferences from './preferences.ts'
import * as products from './matmuls.ts'
import * as serving from './serving.ts'
import { at, capped, fill, get, number, sizes, type Define, type Inputs } from './matrix.ts'

const elementwise =
  (combine: (a: number, b: number) => number, a: string, b: string): Define =>
  inputs => ({
    y: get(inputs, a).values.map((value, i) => combine(value, at(get(inputs, b).values, i))),
  })

const identity: Define = inputs => ({ y: get(inputs, 'x').values.slice() })

const adamw: Define = (inputs, attrs) => {
  const [p, g, m, v] = ['p', 'g', 'm', 'v'].map(name => get(inputs, name).values) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]
  const [rate = 0, step = 0] = get(inputs, 'schedule').values
  const [beta1, beta2] = [number(attrs, 'beta1'), number(attrs, 'beta2')]
  const scaled = g.map(value => value * at(get(inputs, 'factor').values, 0))
  const mNext = fill(p.length, i => beta1 * at(m, i) + (1 - beta1) * at(scaled, i))
  const vNext = fill(p.length, i => beta2 * at(v, i) + (1 - beta2) * at(scaled, i) ** 2)
  const update = (i: number) =>
    at(mNext, i) /
    (1 - beta1 ** step) /
    (Math.sqrt(at(vNext, i) / (1 - beta2 ** step)) + number(attrs, 'eps'))
  return {
    p_next: fill(p.length, i => at(p, i) * (1 - rate * number(attrs, 'weight_decay')) - rate * update(i)),
    m_next: mNext,
    v_next: vNext,
  }
}

const matmulNtSwiglu: Define = (inputs, attrs) => {
  const [m] = sizes(get(inputs, 'a'))
  const [n] = sizes(get(inputs, 'gate_b'))
  const of = (name: 'gate' | 'up') => {
    const own = { a: inputs['a'], b: inputs[`${name}_b`], a2: inputs[`${name}_a2`], b2: inputs[`${name}_b2`] }
    return {
      shape: [m, n],
      values: products.matmulNt(own, { ...attrs, alpha: 1 })['y'] ?? new Float64Array(),
    }
  }
  const [gate, up] = [of('gate'), of('up')]
  return { gate: gate.values, up: up.values, ...activations.swiglu({ gate, up }, attrs) }
}

const matmulNnSwigluGrad: Define = (inputs, attrs) => {
  const [shape, dy] = [get(inputs, 'gate').shape, products.matmulNn(inputs, attrs)['y']]
  if (!dy) throw new Error('[matmul_nn] no result')
  return activations.swigluGrad({ ...inputs, dy: { shape, values: dy } }, attrs)
}

const largest = (values: Float64Array) => values.reduce((max, value) => Math.max(max, Math.abs(value)), 0)

const partsOf = (inputs: Inputs): Float64Array[] => {
  const [x, parts] = [get(inputs, 'x').values, inputs['parts']]
  if (!parts) return [x]
  return Array.from({ length: sizes(parts)[0] }, (_, p) =>
    x.subarray(at(parts.values, 2 * p), at(parts.values, 2 * p + 1)),
  )
}

const clipFactor: Define = (inputs, attrs) => {
  const count = at(get(inputs, 'count').values, 0)
  const norm = Math.sqrt(at(get(inputs, 'sum_squares').values, 0)) / count
  const limit = number(attrs, 'max_norm')
  return {
    norm: Float64Array.of(norm),
    factor: Float64Array.of((limit > 0 && norm > limit ? limit / norm : 1) / count),
  }
}

export const DEFINE: { readonly [N in OpName]: Define } = {
  embed: products.embed,
  embed_grad: products.embedGrad,
  rms_norm: norms.rmsNorm,
  rms_norm_grad: norms.rmsNormGrad,
  rms_norm_weight_grad: norms.rmsNormWeightGrad,
  matmul_nt: products.matmulNt,
  matmul_nt_swiglu: matmulNtSwiglu,
  bias_grad: products.biasGrad,
  matmul_nn: products.matmulNn,
  matmul_nn_swiglu_grad: matmulNnSwigluGrad,
  matmul_tn: products.matmulTn,
  columns: products.columns,
  columns_grad: products.columnsGrad,
  qk_norm_rope: norms.qkNormRope,
  qk_norm_rope_grad: norms.qkNormRopeGrad,
  qk_norm_rope_weight_grad: norms.qkNormRopeWeightGrad,
  swiglu: activations.swiglu,
  swiglu_grad: activations.swigluGrad,
  geglu: activations.geglu,
  geglu_grad: activations.gegluGrad,
  clamped_glu: activations.clampedGlu,
  clamped_glu_grad: activations.clampedGluGrad,
  attention: attention.attention,
  attention_grad: attention.attentionGrad,
  sinks_grad: attention.sinksGrad,
  route: experts.route,
  route_grad: experts.routeGrad,
  expert_order: experts.expertOrder,
  expert_rows: experts.expertRows,
  expert_adapters: experts.expertAdapters,
  combine: experts.combine,
  combine_grad: experts.combineGrad,
  expert_matmul_nt: experts.expertMatmulNt,
  expert_matmul_nn: experts.expertMatmulNn,
  expert_matmul_tn: experts.expertMatmulTn,
  expert_bias_grad: experts.expertBiasGrad,
  balance_sums: experts.balanceSums,
  balance_sums_grad: experts.balanceSumsGrad,
  balance_loss: experts.balanceLoss,
  dropout: adapters.dropout,
  row_norms: adapters.rowNorms,
  scale_columns: adapters.scaleColumns,
  scale_columns_weight_grad: adapters.scaleColumnsWeightGrad,
  adapter_columns: adapters.adapterColumns,
  head_loss: (inputs, attrs) => {
    const { dweight: _, ...outputs } = attention.headLoss(inputs, attrs)
    return outputs
  },
  head_loss_trained: attention.headLoss,
  token_logps: preferences.tokenLogps,
  token_logps_grad: preferences.tokenLogpsGrad,
  segment_sums: preferences.segmentSums,
  segment_sums_grad: preferences.segmentSumsGrad,
  dpo_loss: preferences.dpoLoss,
  kto_loss: preferences.ktoLoss,
  orpo_loss: preferences.orpoLoss,
  add: elementwise((a, b) => a + b, 'a', 'b'),
  softcap: (inputs, attrs) => ({
    y: get(inputs, 'x').values.map(value => capped(value, number(attrs, 'cap'))),
  }),
  scale: inputs => ({ y: get(inputs, 'x').values.map(value => value * at(get(inputs, 'factor').values, 0)) }),
  cast: identity,
  // The oracle ignores storage: tests on bytes cover the loss of quantisation.
  quantize: identity,
  dequantize: identity,
  amax: inputs => ({ y: Float64Array.of(largest(get(inputs, 'x').values)) }),
  delayed_amax: inputs => ({
    y: Float64Array.of(
      largest(get(inputs, 'history').values.subarray(1)) || at(get(inputs, 'amax').values, 0),
    ),
  }),
  observe_amax: inputs => ({
    y: get(inputs, 'history').values.map((value, i) =>
      i === 0 ? Math.max(value, at(get(inputs, 'amax').values, 0)) : value,
    ),
  }),
  roll_amax: inputs => ({
    y: get(inputs, 'history').values.map((_, i, all) =>
      i === 0 || (i === 1 && !Number.isFinite(at(all, 0))) ? 0 : at(all, i - 1),
    ),
  }),
  accumulate: elementwise((a, b) => a + b, 'total', 'x'),
  sum_squares: inputs => ({
    y: Float64Array.of(
      partsOf(inputs).reduce((all, part) => all + part.reduce((sum, value) => sum + value * value, 0), 0),
    ),
  }),
  clip_factor: clipFactor,
  adamw,
  // Tests on bytes cover the loss from storing its states.
  adamw_8bit: adamw,
  paged_write: serving.pagedWrite,
  paged_attention: serving.pagedAttention,
  lora_delta: serving.loraDelta,
  gather_rows: serving.gatherRows,
  sample: serving.sample,
}
