/**
 * How gradients flow through each op, as more ops. A table over all op names: an op without an answer does
 * not compile.
 */
import { FLOATS, LINEAR_ARITHMETICS, isScaled, type LinearArithmetic, type OpName } from '@cairn-tune/ops'
import type { Step, Tensor } from './program.ts'
import type { Recorder } from './record.ts'

/** The gradient of a loss by itself, where nothing needs to be multiplied. */
export const ONE = 'one'
export type Gradient = Tensor | typeof ONE

export type Flow = {
  g: Recorder
  step: Step
  /** An input of the step by name. */
  input: (name: string) => Tensor
  /** An output of the step by name: what the forward pass saved. */
  output: (name: string) => Tensor
  /** Gradient of an output; only asked of outputs that have one. */
  grad: (name: string) => Tensor
  /** The same for a loss, which may be differentiated by itself. */
  lossGrad: (name: string) => Gradient
  isWanted: (input: string) => boolean
  /**
   * What has been summed for an input so far. An op that can add it in its own epilogue hands back the whole
   * sum under `summed`.
   */
  soFar: (input: string) => Tensor | undefined
  /**
   * The step that made an input, where this step alone reads it and nobody asks for its gradient: an op may
   * then answer for both.
   */
  source: (input: string) => Step | undefined
}

/**
 * Gradients of a step's inputs: parts of their sums, or whole sums. `others` are parts of sums of tensors
 * that the step does not read itself, recorded where they are wanted.
 */
type Result = {
  parts?: Record<string, Tensor | undefined>
  summed?: Record<string, Tensor | undefined>
  others?: readonly (readonly [Tensor, () => Tensor])[]
}
export type Backward = (flow: Flow) => Result

const number = (step: Step, name: string) => Number(step.attrs[name] ?? 0)

const arithmeticOf = (step: Step): LinearArithmetic =>
  LINEAR_ARITHMETICS.find(name => name === step.attrs.arithmetic) ?? 'f32'

/**
 * A matmul's gradients are matmuls; they add what an activation has so far in their epilogue. Weights get f32
 * gradients. Where the forward pass rounded a to a small format, the gradient is rounded to one too, by its
 * own largest magnitude (current scaling).
 */
function matmulGrads(
  flow: Flow,
  a: string,
  b: string,
  second: { a2?: Tensor; b2?: Tensor } = {},
): Required<Pick<Result, 'parts' | 'summed'>> {
  const { g, step, input, grad, isWanted, soFar } = flow
  const chosen = arithmeticOf(step)
  const isRounded = a === 'a' && isScaled(chosen)
  const arithmetic = chosen === 'f32' ? 'f32' : 'bf16'
  const alpha = number(step, 'alpha')
  const dy = grad('y')
  const { dtype } = input(a)
  if (isWanted(a) && dtype !== 'f32' && dtype !== 'bf16')
    throw new Error(`[${step.op}] ${a} is ${dtype} and has no gradient`)
  if (isWanted(b) && !FLOATS.includes(input(b).dtype))
    throw new Error(`[${step.op}] ${b} is stored as ${input(b).dtype}, which cannot be trained`)
  if (isWanted(b) && isRounded)
    throw new Error(`[${step.op}] ${b} is multiplied in ${chosen}, which is for frozen weights`)
  // Every use of the random numbers of a step has its own stream: its place in the program as it was
  // recorded.
  const toInput = () =>
    g.matmul_nn(
      {
        a: dy,
        b: input(b),
        ...second,
        addend: soFar(a),
        ...(isRounded ? { a_amax: g.amax({ x: dy }, {}).y, random: step.inputs.random } : {}),
      },
      {
        alpha,
        arithmetic: isRounded ? chosen : arithmetic,
        stream: isRounded ? g.steps.length : 0,
        dtype: dtype === 'bf16' ? 'bf16' : 'f32',
      },
    ).y
  return {
    summed: { [a]: isWanted(a) ? toInput() : undefined },
    parts: {
      [b]: isWanted(b)
        ? g.matmul_tn({ a: dy, b: input(a) }, { alpha, arithmetic, dtype: 'f32' }).y
        : undefined,
    },
  }
}

const matmulNt: Backward = flow => {
  const down = adapterOf(flow)
  if (down) return adapterGrads(flow, down)
  const first = matmulGrads(flow, 'a', 'b')
  const second = flow.step.inputs.a2 ? matmulGrads(flow, 'a2', 'b2') : { summed: {}, parts: {} }
  return {
    summed: { ...first.summed, ...second.summed },
    parts: { ...first.parts, ...second.parts, ...addedGrads(flow) },
  }
}

/** Gradients of what a product adds after its sums. */
const addedGrads = ({ g, grad, isWanted }: Flow) => ({
  addend: isWanted('addend') ? grad('y') : undefined,
  bias: isWanted('bias') ? g.bias_grad({ dy: grad('y') }, {}).dbias : undefined,
})

/**
 * The step z = alpha·x·Aᵀ of a linear y = x·Wᵀ + z·Bᵀ with its adapter, and what it reads, where it is one.
 */
function adapterOf({ step, source, isWanted }: Flow): { x: Tensor; A: Tensor; alpha: number } | undefined {
  const down = source('a2')
  const { a: x, b: A } = down?.inputs ?? {}
  if (
    !down ||
    !x ||
    !A ||
    down.op !== 'matmul_nt' ||
    down.inputs.a2 ||
    down.inputs.addend ||
    down.inputs.bias
  )
    return undefined
  const arithmetic = arithmeticOf(step)
  const isAlike = arithmeticOf(down) === (isScaled(arithmetic) ? 'bf16' : arithmetic)
  return isAlike && x === step.inputs.a && number(step, 'alpha') === 1 && isWanted('a2')
    ? { x, A, alpha: number(down, 'alpha') }
    : undefined
}

/**
 * The adapter's way back to x joins the sums of the linear's own: dx = dy·W + dz·A with dz = alpha·dy·B,
 * which is the gradient of x·Aᵀ.
 */
function adapterGrads(flow: Flow, { x, A, alpha }: { x: Tensor; A: Tensor; alpha: number }): Result {
  const { g, step, input, grad, isWanted } = flow
  const arithmetic = arithmeticOf(step) === 'f32' ? 'f32' : 'bf16'
  const dy = grad('y')
  const dz = g.matmul_nn(
    { a: dy, b: input('b2') },
    { alpha, arithmetic, stream: 0, dtype: input('a2').dtype === 'bf16' ? 'bf16' : 'f32' },
  ).y
  const { summed, parts } = matmulGrads(flow, 'a', 'b', { a2: dz, b2: A })
  const plain = { alpha: 1, arithmetic, dtype: 'f32' } as const
  const dB = isWanted('b2') ? g.matmul_tn({ a: dy, b: input('a2') }, plain).y : undefined
  return {
    summed,
    parts: { ...parts, b2: dB, ...addedGrads(flow) },
    others: [[A, () => g.matmul_tn({ a: dz, b: x }, plain).y]],
  }
}

const rmsNorm: Backward = ({ g, step, input, output, grad, isWanted }) => {
  const weight_offset = number(step, 'weight_offset')
  const [dy, x, rstd] = [grad('y'), input('x'), output('rstd')]
  return {
    parts: {
      x: isWanted('x')
        ? g.rms_norm_grad({ dy, x, weight: input('weight'), rstd }, { weight_offset }).dx
        : undefined,
      weight: isWanted('weight') ? g.rms_norm_weight_grad({ dy, x, rstd }, {}).dweight : undefined,
    },
  }
}

const qkNormRope: Backward = ({ g, step, input, output, grad, isWanted }) => {
  const heads = number(step, 'heads')
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
      { heads, weight_offset: number(step, 'weight_offset') },
    ).dx
  const dweight = () =>
    g.qk_norm_rope_weight_grad({ dy, x, positions, cos_sin: cosSin, rstd }, { heads }).dweight
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
  // A sink has no value, so what reaches q, k and v knows it by lse alone.
  const dsinks = () =>
    g.sinks_grad({ dy, y: saved.y, lse: saved.lse, sinks: input('sinks') }, { heads: attrs.heads }).dsinks
  return { parts: { q: dq, k: dk, v: dv, sinks: isWanted('sinks') ? dsinks() : undefined } }
}

/** The loss has its gradients from the forward pass, which made and dropped the logits. */
function lossGrads({ g, step, output, isWanted }: Flow, loss: Gradient): Result {
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
  head_loss: flow => lossGrads(flow, flow.lossGrad('loss')),
  head_loss_trained: flow => lossGrads(flow, flow.lossGrad('loss')),
  add: ({ grad }) => ({ parts: { a: grad('y'), b: grad('y') } }),
  scale: ({ g, input, grad }) => ({ parts: { x: g.scale({ x: grad('y'), factor: input('factor') }, {}).y } }),
  cast,
  embed_grad: none,
  rms_norm_grad: none,
  rms_norm_weight_grad: none,
  bias_grad: none,
  columns_grad: none,
  matmul_nn: none,
  matmul_tn: none,
  qk_norm_rope_grad: none,
  qk_norm_rope_weight_grad: none,
  swiglu_grad: none,
  geglu_grad: none,
  clamped_glu_grad: none,
  attention_grad: none,
  sinks_grad: none,
  quantize: none,
  dequantize: none,
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
