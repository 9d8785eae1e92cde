/** Gradients of linears: of one matrix, and of one per expert. */
import {
  FLOATS,
  LINEAR_ARITHMETICS,
  isScaled,
  type AttrsOf,
  type InputsOf,
  type LinearArithmetic,
} from '@cairn-tune/ops'
import { number, type Backward, type GradientContext, type InputGradients } from './gradient-context.ts'
import type { Step, Tensor } from './program.ts'

/** The products that make a linear's gradients: for its input, its weight and its bias. */
type Products = {
  nn: (inputs: InputsOf<'matmul_nn', Tensor>, attrs: AttrsOf<'matmul_nn'>) => Tensor
  tn: (inputs: InputsOf<'matmul_tn', Tensor>, attrs: AttrsOf<'matmul_tn'>) => Tensor
  bias: (dy: Tensor) => Tensor
}

const arithmeticOf = (step: Step): LinearArithmetic =>
  LINEAR_ARITHMETICS.find(name => name === step.attrs.arithmetic) ?? 'f32'

/**
 * Gradients of a matmul are matmuls; they add the activation's gradient so far in their epilogue. Weights get
 * f32 gradients. If the forward pass rounded a to a small format, the gradient is rounded to one too, by its
 * own largest magnitude (current scaling).
 */
function matmulGrads(
  flow: GradientContext,
  products: Products,
  a: string,
  b: string,
  second: { a2?: Tensor; b2?: Tensor } = {},
): Required<Pick<InputGradients, 'parts' | 'summed'>> {
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
    throw new Error(`[${step.op}] ${b} is multiplied in ${chosen}, which only supports frozen weights`)
  // Each use of a step's random numbers has its own stream: its index in the program as recorded.
  const toInput = () =>
    products.nn(
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
    )
  return {
    summed: { [a]: isWanted(a) ? toInput() : undefined },
    parts: {
      [b]: isWanted(b) ? products.tn({ a: dy, b: input(a) }, { alpha, arithmetic, dtype: 'f32' }) : undefined,
    },
  }
}

/** The gradients of y = alpha·(a·bᵀ + a2·b2ᵀ) + bias + addend, from the products of its op. */
function linearGrads(flow: GradientContext, products: Products): InputGradients {
  const down = adapterOf(flow)
  if (down) return adapterGrads(flow, products, down)
  const first = matmulGrads(flow, products, 'a', 'b')
  const second = flow.step.inputs.a2 ? matmulGrads(flow, products, 'a2', 'b2') : { summed: {}, parts: {} }
  return {
    summed: { ...first.summed, ...second.summed },
    parts: { ...first.parts, ...second.parts, ...addedGrads(flow, products) },
  }
}

export const matmulNt: Backward = flow =>
  linearGrads(flow, {
    nn: (inputs, attrs) => flow.g.matmul_nn(inputs, attrs).y,
    tn: (inputs, attrs) => flow.g.matmul_tn(inputs, attrs).y,
    bias: dy => flow.g.bias_grad({ dy }, {}).dbias,
  })

export const expertMatmulNt: Backward = flow => {
  const ends = flow.input('ends')
  return linearGrads(flow, {
    nn: (inputs, attrs) => flow.g.expert_matmul_nn({ ...inputs, ends }, attrs).y,
    tn: (inputs, attrs) => flow.g.expert_matmul_tn({ ...inputs, ends }, attrs).y,
    bias: dy => flow.g.expert_bias_grad({ dy, ends }, {}).dbias,
  })
}

/** Gradients of the terms that a product adds after its sums. */
const addedGrads = ({ grad, isWanted }: GradientContext, products: Products) => ({
  addend: isWanted('addend') ? grad('y') : undefined,
  bias: isWanted('bias') ? products.bias(grad('y')) : undefined,
})

/** The step z = alpha·x·Aᵀ and its inputs, for a linear y = x·Wᵀ + z·Bᵀ with an adapter. */
function adapterOf({
  step,
  source,
  isWanted,
}: GradientContext): { x: Tensor; A: Tensor; alpha: number } | undefined {
  const down = source('a2')
  const { a: x, b: A } = down?.inputs ?? {}
  if (!down || !x || !A || down.op !== step.op || down.inputs.a2 || down.inputs.addend || down.inputs.bias)
    return undefined
  const arithmetic = arithmeticOf(step)
  const isAlike = arithmeticOf(down) === (isScaled(arithmetic) ? 'bf16' : arithmetic)
  return isAlike && x === step.inputs.a && number(step, 'alpha') === 1 && isWanted('a2')
    ? { x, A, alpha: number(down, 'alpha') }
    : undefined
}

/**
 * The adapter's gradient for x joins the sums of the linear's own: dx = dy·W + dz·A with dz = alpha·dy·B, the
 * gradient of x·Aᵀ.
 */
function adapterGrads(
  flow: GradientContext,
  products: Products,
  { x, A, alpha }: { x: Tensor; A: Tensor; alpha: number },
): InputGradients {
  const { step, input, grad, isWanted } = flow
  const arithmetic = arithmeticOf(step) === 'f32' ? 'f32' : 'bf16'
  const dy = grad('y')
  const dz = products.nn(
    { a: dy, b: input('b2') },
    { alpha, arithmetic, stream: 0, dtype: input('a2').dtype === 'bf16' ? 'bf16' : 'f32' },
  )
  const { summed, parts } = matmulGrads(flow, products, 'a', 'b', { a2: dz, b2: A })
  const plain = { alpha: 1, arithmetic, dtype: 'f32' } as const
  const dB = isWanted('b2') ? products.tn({ a: dy, b: input('a2') }, plain) : undefined
  return {
    summed,
    parts: { ...parts, b2: dB, ...addedGrads(flow, products) },
    others: [[A, () => products.tn({ a: dz, b: x }, plain)]],
  }
}
