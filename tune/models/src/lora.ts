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
import { rankOf, scaleOf, type LoraRanks } from './lora-ranks.ts'

/** Records a weight of the base model as an input, in its stored dtype. */
export type Weights = (name: string, shape: Shape) => Tensor

/** Rows grouped by expert: the end of each group, and the token of each row (op expert_order). */
export type ExpertRows = { ends: Tensor; tokens: Tensor }

/**
 * Bias and addend of a linear layer. With `experts` it has one matrix per expert, (E, n, columns of x), and a
 * bias of (E, n).
 */
export type LinearOptions = {
  bias?: Tensor | undefined
  addend?: Tensor | undefined
  experts?: ExpertRows | undefined
}

/** Records y = x·Wᵀ plus bias and addend for the weight `<name>.weight` of (n, columns of x). */
export type Linear = (name: string, x: Tensor, n: number, added?: LinearOptions) => Tensor

export type LoraConfig = LoraRanks & {
  /** Last part of the names of the linears with an adapter, such as `q_proj`. Defaults to all. */
  lora_target_modules?: readonly string[] | undefined
  /**
   * Gives each row of an adapted weight its own magnitude (DoRA, arXiv:2402.09353). Not for linears of
   * experts, and not with dropout.
   */
  use_dora?: boolean | undefined
  /** Share of an adapter's inputs that is dropped. Above 0 it needs `random`. */
  lora_dropout?: number | undefined
}

/** Rounding of the products with the frozen base (contract T2). */
export type BaseRounding = {
  /** Arithmetic of the linear with that name. Adapters always multiply in the model's dtype. */
  arithmeticOf: (name: string) => LinearArithmetic
  /**
   * Seed and number of the micro-step, `i32 (3)` as in matmul_nn. With it, gradients of nvfp4 are rounded
   * stochastically; without, to nearest.
   */
  random?: Tensor
  /** Whether a micro-step writes its magnitudes to the histories. Defaults to true. */
  observes?: boolean
}

const isTarget = ({ lora_target_modules: modules }: LoraConfig, name: string): boolean =>
  modules === undefined || modules.includes(name.split('.').at(-1) ?? '')

/** The product of a linear: all rows with one matrix, or each expert's rows with its own. */
export const matmulOf =
  (g: Recorder, experts: ExpertRows | undefined) =>
  (inputs: InputsOf<'matmul_nt', Tensor>, attrs: AttrsOf<'matmul_nt'>): Tensor =>
    experts ? g.expert_matmul_nt({ ...inputs, ends: experts.ends }, attrs).y : g.matmul_nt(inputs, attrs).y

/** Suffix of a linear's name for the magnitudes of its rows. */
export const MAGNITUDE = '.lora_magnitude_vector'

/** Length of a history of largest magnitudes: the current step's, then those of earlier steps. */
export const AMAX_HISTORY = 1 + 16

/** Prefix of an input that holds the bf16 copy of an adapter matrix. */
export const COPY = 'bf16:'

type Options = {
  g: Recorder
  dtype: Arithmetic
  weights: Weights
  lora?: LoraConfig
  rounding?: BaseRounding
  /** Seed of dropout, in the form of BaseRounding's `random`. Nothing is dropped without it. */
  random?: Tensor | undefined
  /** Whether linears read bf16 copies of the adapters' matrices, as inputs called COPY and their name. */
  readsCopies?: boolean
}

export type LoraLinear = {
  linear: Linear
  /**
   * Adapter matrices recorded so far, in order: `<linear>.lora_A.weight` (rank, in) and
   * `<linear>.lora_B.weight` (out, rank), in f32, or their copies; those of experts have the number of
   * experts in front. With use_dora also `<linear>.lora_magnitude_vector` (out).
   */
  readonly adapters: readonly Tensor[]
  /**
   * Histories for delayed scaling, f32 (AMAX_HISTORY) each, in order: `amax:<linear>` for the first linear
   * that reads an activation. They are state like the optimizer's: zero at first, written by each micro-step,
   * shifted by roll_amax once per step.
   */
  readonly amaxHistories: readonly Tensor[]
}

/** Linears of a model, with adapters on the target modules where `lora` is given. */
export function createLinear({
  g,
  dtype,
  weights,
  lora,
  rounding,
  random,
  readsCopies,
}: Options): LoraLinear {
  const adapters: Tensor[] = []
  const amaxHistories: Tensor[] = []
  let dropouts = 0
  // Linears that read the same activation share its scale.
  const scales = new Map<Tensor, Tensor>()
  const adapter = (name: string, shape: Shape) => {
    const tensor = readsCopies ? g.input(COPY + name, 'bf16', shape) : g.input(name, 'f32', shape)
    adapters.push(tensor)
    return tensor
  }

  /** The magnitude that scales x: its own, or with fp8_hybrid the largest of the steps before. */
  function magnitudeOf(name: string, x: Tensor, arithmetic: LinearArithmetic): Tensor {
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

  function linear(name: string, x: Tensor, n: number, added: LinearOptions = {}): Tensor {
    const plain = { alpha: 1, arithmetic: dtype, dtype }
    const arithmetic = rounding?.arithmeticOf(name) ?? dtype
    const attrs = { ...plain, arithmetic }
    const k = x.shape[1] ?? 0
    const scaling = isScaled(arithmetic)
      ? { a_amax: magnitudeOf(name, x, arithmetic), random: rounding?.random }
      : {}
    const { experts, ...sums } = added
    const multiply = matmulOf(g, experts)
    const count = experts ? experts.ends.shape : []
    const weight = weights(`${name}.weight`, [...count, n, k])
    const base = { a: x, b: weight, ...scaling }
    if (!lora || !isTarget(lora, name)) return multiply({ ...base, ...sums }, attrs)
    const r = rankOf(lora, name)
    const alpha = scaleOf(lora, name)
    const down = adapter(`${name}.lora_A.weight`, [...count, r, k])
    const z = multiply({ a: dropped(x), b: down }, { ...plain, alpha }) // (T, r)
    const up = adapter(`${name}.lora_B.weight`, [...count, n, r])
    const adapted = { ...base, a2: z, b2: up }
    if (!lora.use_dora) return multiply({ ...adapted, ...sums }, attrs)
    if (experts) throw new Error(`${name} belongs to experts, which do not support DoRA`)
    const norms = g.row_norms({ weight, a: down, b: up }, { alpha }).y
    const magnitude = adapter(`${name}${MAGNITUDE}`, [n])
    return g.scale_columns({ x: multiply(adapted, attrs), weight: magnitude, norms, ...sums }, {}).y
  }

  /** The adapter's input in training, after dropout. */
  function dropped(x: Tensor): Tensor {
    const rate = lora?.lora_dropout ?? 0
    if (!random || rate === 0) return x
    // Adapters have streams −1, −2, … in order; streams of rounding count from 0.
    return g.dropout({ x, random }, { rate, stream: -++dropouts }).y
  }
  return { linear, adapters, amaxHistories }
}
