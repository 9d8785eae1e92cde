/**
 * Linears with low-rank adapters: y = x·Wᵀ + (alpha / rank)·(x·Aᵀ)·Bᵀ. The adapter joins the sums of the base
 * matmul, so it costs no matmul of its own.
 */
import {
  isScaled,
  type Arithmetic,
  type AttrsOf,
  type InputsOf,
  type LinearArithmetic,
  type Shape,
} from '@cairn-tune/ops'
import type { Recorder, Tensor } from '@cairn-tune/program'
import { isFeedForward } from '@cairn-tune/weights'

/** Records a weight of the base model as an input, in whatever dtype it is stored. */
export type Weights = (name: string, shape: Shape) => Tensor

/** Rows that are in order of experts: where those of each end, and the token of each (op expert_order). */
export type ExpertRows = { ends: Tensor; tokens: Tensor }

/**
 * What a linear adds to its product: its own bias, and the rows that it is added to. With `experts` it has a
 * matrix for each, (E, n, columns of x), and a bias of (E, n).
 */
export type Added = {
  bias?: Tensor | undefined
  addend?: Tensor | undefined
  experts?: ExpertRows | undefined
}

/** Records y = x·Wᵀ and what is added to it for the weight `<name>.weight` of (n, columns of x). */
export type Linear = (name: string, x: Tensor, n: number, added?: Added) => Tensor

export type LoraConfig = {
  lora_rank: number
  lora_alpha: number
  /** Counts alpha / √rank times in place of alpha / rank. */
  use_rslora?: boolean
  /** Of feed-forward linears in a model with experts, where it is another; alpha / rank is the same. */
  lora_expert_rank?: number | undefined
  /** Last part of the names of the linears that get an adapter, as `q_proj`; all where it is left out. */
  lora_target_modules?: readonly string[] | undefined
}

/** How the products with the frozen base are rounded (contract T2). */
export type BaseRounding = {
  /** What the linear of that name multiplies in; adapters multiply in the model's dtype whatever it is. */
  arithmeticOf: (name: string) => LinearArithmetic
  /**
   * Seed and number of the micro-step, `i32 (3)` as matmul_nn has it: gradients of nvfp4 are rounded
   * stochastically by it, to nearest without.
   */
  random?: Tensor
  /** Whether a micro-step leaves its magnitudes in the histories; true where it is left out. */
  observes?: boolean
}

const isTarget = ({ lora_target_modules: modules }: LoraConfig, name: string): boolean =>
  modules === undefined || modules.includes(name.split('.').at(-1) ?? '')

/** The product of a linear: of all rows with one matrix, or of those of each expert with its own. */
export const matmulOf =
  (g: Recorder, experts: ExpertRows | undefined) =>
  (inputs: InputsOf<'matmul_nt', Tensor>, attrs: AttrsOf<'matmul_nt'>): Tensor =>
    experts ? g.expert_matmul_nt({ ...inputs, ends: experts.ends }, attrs).y : g.matmul_nt(inputs, attrs).y

/** Numbers of a history of largest magnitudes: that of the step at hand, then those of the steps before. */
export const AMAX_HISTORY = 1 + 16

type Options = {
  g: Recorder
  dtype: Arithmetic
  weights: Weights
  lora?: LoraConfig
  rounding?: BaseRounding
}

export type LoraLinear = {
  linear: Linear
  /**
   * Adapter matrices recorded so far, in order: `<linear>.lora_A.weight` (rank, in) and
   * `<linear>.lora_B.weight` (out, rank), in f32; of experts with their number before that.
   */
  readonly adapters: readonly Tensor[]
  /**
   * Histories that delayed scaling follows, f32 (AMAX_HISTORY) each, in order: `amax:<linear>` for the first
   * linear that reads an activation. They are state as the optimizer's is: zero at first, written by each
   * micro-step, moved on by roll_amax once a step.
   */
  readonly amaxHistories: readonly Tensor[]
}

/** Linears of a model, with adapters on the target modules where `lora` is given. */
export function createLinear({ g, dtype, weights, lora, rounding }: Options): LoraLinear {
  const adapters: Tensor[] = []
  const amaxHistories: Tensor[] = []
  // Linears that read the same activation share its scale.
  const scales = new Map<Tensor, Tensor>()
  const adapter = (name: string, shape: Shape) => {
    const tensor = g.input(name, 'f32', shape)
    adapters.push(tensor)
    return tensor
  }

  /** The magnitude that x is scaled by: its own now, or with fp8_hybrid the largest of the steps before. */
  function scaleOf(name: string, x: Tensor, arithmetic: LinearArithmetic): Tensor {
    const known = scales.get(x)
    if (known) return known
    const amax = g.amax({ x }, {}).y
    const scale = arithmetic === 'fp8_hybrid' ? delayed(name, amax) : amax
    scales.set(x, scale)
    return scale
  }

  function delayed(name: string, amax: Tensor): Tensor {
    const history = g.input(`amax:${name}`, 'f32', [AMAX_HISTORY])
    amaxHistories.push(history)
    const { y } = g.delayed_amax({ history, amax }, {})
    if (rounding?.observes !== false) g.observe_amax({ history, amax }, {})
    return y
  }

  function linear(name: string, x: Tensor, n: number, added: Added = {}): Tensor {
    const plain = { alpha: 1, arithmetic: dtype, dtype }
    const arithmetic = rounding?.arithmeticOf(name) ?? dtype
    const attrs = { ...plain, arithmetic }
    const k = x.shape[1] ?? 0
    const scaling = isScaled(arithmetic)
      ? { a_amax: scaleOf(name, x, arithmetic), random: rounding?.random }
      : {}
    const { experts, ...sums } = added
    const multiply = matmulOf(g, experts)
    const count = experts ? experts.ends.shape : []
    const pair = { a: x, b: weights(`${name}.weight`, [...count, n, k]), ...sums, ...scaling }
    if (!lora || !isTarget(lora, name)) return multiply(pair, attrs)
    const r = (isFeedForward(name) ? lora.lora_expert_rank : undefined) ?? lora.lora_rank
    const z = multiply(
      { a: x, b: adapter(`${name}.lora_A.weight`, [...count, r, k]) },
      { ...plain, alpha: lora.lora_alpha / (lora.use_rslora ? Math.sqrt(lora.lora_rank) : lora.lora_rank) },
    ) // (T, r)
    return multiply({ ...pair, a2: z, b2: adapter(`${name}.lora_B.weight`, [...count, n, r]) }, attrs)
  }
  return { linear, adapters, amaxHistories }
}
