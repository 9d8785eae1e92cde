/** Linears with low-rank adapters: y = x·Wᵀ + (alpha / rank)·(x·Aᵀ)·Bᵀ. The adapter joins the sums of the base matmul, so it costs no pass of its own. */
import type { Arithmetic, LinearArithmetic, Shape } from '@cairn-tune/ops'
import type { Recorder, Tensor } from '@cairn-tune/program'

/** Records a weight of the base model as an input, in whatever dtype it is stored. */
export type Weights = (name: string, shape: Shape) => Tensor

/** Records y = x·Wᵀ (+ addend) for the weight `<name>.weight` of (n, columns of x). */
export type Linear = (name: string, x: Tensor, n: number, addend?: Tensor) => Tensor

export type LoraConfig = {
  lora_rank: number
  lora_alpha: number
  /** Last part of the names of the linears that get an adapter, as `q_proj`. */
  lora_target_modules: readonly string[]
}

/** The seven linears of a layer. */
export const LORA_MODULES = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const

/** How a linear's product with its base weight rounds x: an arithmetic of its own, and what that needs. */
export type Rounding = { arithmetic: LinearArithmetic; a_amax?: Tensor; random?: Tensor }

/** `round` says which linears multiply by their base weight otherwise than in `dtype`; adapters never do. */
type Options = { g: Recorder; dtype: Arithmetic; weights: Weights; lora?: LoraConfig; round?: (name: string, x: Tensor) => Rounding | undefined }

export type LoraLinear = {
  linear: Linear
  /** Adapter matrices recorded so far, in order: `<linear>.lora_A.weight` (rank, in) and `<linear>.lora_B.weight` (out, rank), in f32. */
  readonly adapters: readonly Tensor[]
}

/** Linears of a model, with adapters on the target modules where `lora` is given. */
export function createLinear({ g, dtype, weights, lora, round }: Options): LoraLinear {
  const adapters: Tensor[] = []
  const adapter = (name: string, shape: Shape) => {
    const tensor = g.input(name, 'f32', shape)
    adapters.push(tensor)
    return tensor
  }

  function linear(name: string, x: Tensor, n: number, addend?: Tensor): Tensor {
    const attrs = { alpha: 1, arithmetic: dtype, dtype }
    const k = x.shape[1] ?? 0
    const { arithmetic, ...scales } = round?.(name, x) ?? { arithmetic: dtype }
    const pair = { a: x, b: weights(`${name}.weight`, [n, k]), addend, ...scales }
    if (!lora?.lora_target_modules.includes(name.split('.').at(-1) ?? '')) return g.matmul_nt(pair, { ...attrs, arithmetic }).y
    const r = lora.lora_rank
    const z = g.matmul_nt({ a: x, b: adapter(`${name}.lora_A.weight`, [r, k]) }, { ...attrs, alpha: lora.lora_alpha / r }).y // (T, r)
    return g.matmul_nt({ ...pair, a2: z, b2: adapter(`${name}.lora_B.weight`, [n, r]) }, { ...attrs, arithmetic }).y
  }
  return { linear, adapters }
}
