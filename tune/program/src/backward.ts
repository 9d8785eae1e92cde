/**
 * The gradient rule of each op, in terms of other ops. The table covers all op names: an op without a rule
 * does not compile.
 */
import type { OpName } from '@cairn-tune/ops'
import { dropout, scaleColumns } from './adapter-grads.ts'
import { balanceLoss, balanceSums, combine, expertRows, route } from './expert-grads.ts'
import {
  ONE,
  number,
  type Backward,
  type GradientContext,
  type Gradient,
  type InputGradients,
} from './gradient-context.ts'
import { expertMatmulNt, matmulNt } from './matmul-grads.ts'
import { dpoLoss, ktoLoss, orpoLoss, segmentSums, tokenLogps } from './preference-grads.ts'
import type { Tensor } from './program.ts'

const rmsNorm: Backward = ({ g, step, input, output, grad, isWanted, soFar }) => {
  const weight_offset = number(step, 'weight_offset')
  const [dy, x, rstd] = [grad('y'), input('x'), output('rstd')]
  const dx = () =>
    g.rms_norm_grad({ dy, x, weight: input('weight'), rstd, addend: soFar('x') }, { weight_offset }).dx
  return {
    summed: { x: isWanted('x') ? dx() : undefined },
    parts: {
      weight: isWanted('weight') ? g.rms_norm_weight_grad({ dy, x, rstd }, {}).dweight : undefined,
    },
  }
}

const qkNormRope: Backward = ({ g, step, input, output, grad, isWanted }) => {
  const heads = number(step, 'heads')
  const interleaved = number(step, 'interleaved')
  const [dy, x, rstd, positions, cosSin] = [
    grad('y'),
    input('x'),
    output('rstd'),
    input('positions'),
    input('cos_sin'),
  ]
  const dx = () =>
    g.qk_norm_rope_grad(
      { dy, x, weight: step.inputs.weight, positions, cos_sin: cosSin, rstd },
      { heads, weight_offset: number(step, 'weight_offset'), interleaved },
    ).dx
  const dweight = () =>
    g.qk_norm_rope_weight_grad({ dy, x, positions, cos_sin: cosSin, rstd }, { heads, interleaved }).dweight
  return {
    parts: { x: isWanted('x') ? dx() : undefined, weight: isWanted('weight') ? dweight() : undefined },
  }
}

const glu =
  (op: 'swiglu_grad' | 'geglu_grad'): Backward =>
  ({ g, input, grad }) => {
    const { dgate, dup } = g[op]({ dy: grad('y'), gate: input('gate'), up: input('up') }, {})
    return { parts: { gate: dgate, up: dup } }
  }

const clampedGlu: Backward = ({ g, step, input, grad }) => ({
  parts: {
    x: g.clamped_glu_grad(
      { dy: grad('y'), x: input('x') },
      { alpha: number(step, 'alpha'), limit: number(step, 'limit') },
    ).dx,
  },
})

const columns: Backward = ({ g, step, input, grad, soFar }) => ({
  summed: {
    x: g.columns_grad(
      { dy: grad('y'), addend: soFar('x') },
      { from: number(step, 'from'), count: input('x').shape[1] ?? 0 },
    ).dx,
  },
})

const attention: Backward = ({ g, step, input, output, grad, isWanted }) => {
  const attrs = {
    heads: number(step, 'heads'),
    kv_heads: number(step, 'kv_heads'),
    scale: number(step, 'scale'),
    window: number(step, 'window'),
    softcap: number(step, 'softcap'),
  }
  const saved = {
    q: input('q'),
    k: input('k'),
    v: input('v'),
    y: output('y'),
    lse: output('lse'),
    cu_seqlens: input('cu_seqlens'),
  }
  const dy = grad('y')
  const { dq, dk, dv } = g.attention_grad({ dy, ...saved }, attrs)
  // A sink has no value, so it affects the gradients of q, k and v only through lse.
  const dsinks = () =>
    g.sinks_grad({ dy, y: saved.y, lse: saved.lse, sinks: input('sinks') }, { heads: attrs.heads }).dsinks
  return { parts: { q: dq, k: dk, v: dv, sinks: isWanted('sinks') ? dsinks() : undefined } }
}

/** The loss has its gradients from the forward pass, which computed and dropped the logits. */
function lossGrads({ g, step, output, isWanted }: GradientContext, loss: Gradient): InputGradients {
  const times = (saved: Tensor) => (loss === ONE ? saved : g.scale({ x: saved, factor: loss }, {}).y)
  if (isWanted('weight') && !step.outputs.dweight)
    throw new Error('[head_loss] has no gradient for its weight; record head_loss_trained instead')
  return {
    parts: {
      x: isWanted('x') ? times(output('dx')) : undefined,
      weight: isWanted('weight') ? times(output('dweight')) : undefined,
    },
  }
}

const cast: Backward = ({ g, input, grad }) => ({
  parts: { x: g.cast({ x: grad('y') }, { dtype: input('x').dtype === 'bf16' ? 'bf16' : 'f32' }).y },
})

const none: Backward = ({ step }) => {
  throw new Error(`[${step.op}] has no gradient`)
}

export const BACKWARD: { readonly [N in OpName]: Backward } = {
  embed: ({ g, step, input, grad }) => ({
    parts: {
      table: g.embed_grad(
        { dy: grad('y'), ids: input('ids') },
        { vocab: input('table').shape[0] ?? 0, scale: number(step, 'scale') },
      ).dtable,
    },
  }),
  rms_norm: rmsNorm,
  matmul_nt: matmulNt,
  qk_norm_rope: qkNormRope,
  columns,
  swiglu: glu('swiglu_grad'),
  geglu: glu('geglu_grad'),
  clamped_glu: clampedGlu,
  attention,
  route,
  expert_rows: expertRows,
  combine,
  expert_matmul_nt: expertMatmulNt,
  balance_sums: balanceSums,
  balance_loss: balanceLoss,
  dropout,
  scale_columns: scaleColumns,
  head_loss: flow => lossGrads(flow, flow.lossGrad('loss')),
  head_loss_trained: flow => lossGrads(flow, flow.lossGrad('loss')),
  token_logps: tokenLogps,
  segment_sums: segmentSums,
  dpo_loss: dpoLoss,
  kto_loss: ktoLoss,
  orpo_loss: orpoLoss,
  add: ({ grad }) => ({ parts: { a: grad('y'), b: grad('y') } }),
  scale: ({ g, input, grad }) => ({ parts: { x: g.scale({ x: grad('y'), factor: input('factor') }, {}).y } }),
  cast,
  embed_grad: none,
  rms_norm_grad: none,
  rms_norm_weight_grad: none,
  bias_grad: none,
  columns_grad: none,
  matmul_nt_swiglu: none,
  matmul_nn: none,
  matmul_nn_swiglu_grad: none,
  matmul_tn: none,
  qk_norm_rope_grad: none,
  qk_norm_rope_weight_grad: none,
  swiglu_grad: none,
  geglu_grad: none,
  clamped_glu_grad: none,
  attention_grad: none,
  sinks_grad: none,
  route_grad: none,
  expert_order: none,
  expert_adapters: none,
  combine_grad: none,
  expert_matmul_nn: none,
  expert_matmul_tn: none,
  expert_bias_grad: none,
  balance_sums_grad: none,
  row_norms: none,
  scale_columns_weight_grad: none,
  adapter_columns: none,
  token_logps_grad: none,
  segment_sums_grad: none,
  quantize: none,
  dequantize: none,
  softcap: none,
  amax: none,
  delayed_amax: none,
  observe_amax: none,
  roll_amax: none,
  accumulate: none,
  sum_squares: none,
  clip_factor: none,
  adamw: none,
  adamw_8bit: none,
  paged_write: none,
  paged_attention: none,
  lora_delta: none,
  gather_rows: none,
  sample: none,
}
