/**
 * Recipes: how the frozen base is stored and what its matmuls multiply in. The one table: engine, configuration, result tables, docs and
 * `cairn-tune recipes` follow it (design section 2).
 *
 * Only the projections of the layers have a recipe. Embeddings, norms and head stay as they are, adapters are f32 and multiply in bf16, softmax is f32.
 */
import type { Arithmetic, Dtype } from '@cairn-tune/ops'

/** What the matmuls of the base's projections multiply in. `arithmetic` is the op table's name of it; a name without one has no kernel here yet. */
export type MatmulSpec = { arithmetic: Arithmetic | undefined; forward: string; backward: string; doc: string }

export const MATMULS = {
  bf16: {
    arithmetic: 'bf16', forward: 'bf16 × bf16', backward: 'bf16 × bf16',
    doc: 'Operands rounded to bf16 where they are packed, sums in f32.',
  },
  'fp8-hybrid': {
    arithmetic: undefined, forward: 'E4M3 × E4M3', backward: 'E5M2 × E4M3',
    doc: 'q = E4M3(x · 448 / amax) for activations and weights, E5M2(dy · 57344 / amax) for gradients, one scale a tensor; sums in f32.',
  },
  nvfp4: {
    arithmetic: undefined, forward: 'E2M1 × E2M1', backward: 'E2M1, stochastically rounded × E2M1',
    doc: 'Blocks of 16 along the sum: s = E4M3(amax₁₆ / 6 · 2688 / amax), q = E2M1(x · 2688 / (amax · s)); gradients rounded stochastically; sums in f32.',
  },
} as const satisfies Record<string, MatmulSpec>

export type MatmulName = keyof typeof MATMULS

export type RecipeSpec = {
  /** Its column in the tables of results. */
  column: string
  /** How the projections of the base are stored. */
  storage: Dtype
  /** The arithmetic, or the one it has unless another is chosen. */
  matmul: MatmulName
  /** Others that `matmul` may choose. */
  choices: readonly MatmulName[]
  /** What an element of the stored base is worth. */
  formula: string
  /** Bits an element takes, scales included. */
  bits: number
}

export const RECIPE_TABLE = {
  bf16: { column: 'BF16', storage: 'bf16', matmul: 'bf16', choices: [], formula: 'w', bits: 16 },
  fp8: { column: 'FP8', storage: 'bf16', matmul: 'fp8-hybrid', choices: [], formula: 'w', bits: 16 },
  qfp8: { column: 'QoFP8', storage: 'fp8_tiles', matmul: 'bf16', choices: ['bf16', 'fp8-hybrid'], formula: 'E4M3 code · s, with s = amax / 448 in f32 for each tile of 128 × 128', bits: 8 + 32 / 128 ** 2 },
  fp4: { column: 'FP4', storage: 'bf16', matmul: 'nvfp4', choices: [], formula: 'w', bits: 16 },
  qfp4: { column: 'QoFP4', storage: 'nvfp4', matmul: 'bf16', choices: ['bf16', 'fp8-hybrid'], formula: 'E2M1 code · E4M3 scale of 16 · amax / 2688', bits: 4 + 8 / 16 },
  qbnb: { column: 'QoNF4', storage: 'nf4', matmul: 'bf16', choices: ['bf16', 'fp8-hybrid'], formula: 'NF4 code · absmax of 64, the absmax itself an 8-bit code in groups of 256', bits: 4 + 8 / 64 + 32 / (64 * 256) },
} as const satisfies Record<string, RecipeSpec>

export type Recipe = keyof typeof RECIPE_TABLE
export const RECIPES = Object.keys(RECIPE_TABLE) as Recipe[]
/** Recipes whose base is stored quantised; only these choose another arithmetic. */
export const QUANTIZED_RECIPES: readonly Recipe[] = RECIPES.filter(name => RECIPE_TABLE[name].choices.length > 0)
