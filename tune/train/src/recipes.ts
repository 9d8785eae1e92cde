/**
 * Recipes: the storage of the frozen base and the arithmetic of its matmuls. Engine, configuration, result
 * tables, docs and `cairn-tune recipes` all follow this table (contract T2).
 *
 * Only the projections of the layers have a recipe. Embeddings, norms and head stay unchanged, adapters are
 * f32 and multiply in bf16, softmax is f32.
 */
import type { Dtype, LinearArithmetic } from '@cairn-tune/ops'

/** Arithmetic of the matmuls of the base's projections. `arithmetic` is its name in the op table. */
export type MatmulSpec = { arithmetic: LinearArithmetic; forward: string; backward: string; doc: string }

export const MATMULS = {
  bf16: {
    arithmetic: 'bf16',
    forward: 'bf16 × bf16',
    backward: 'bf16 × bf16',
    doc: 'Operands are rounded to bf16 when they are packed; sums are f32.',
  },
  'fp8-hybrid': {
    arithmetic: 'fp8_hybrid',
    forward: 'E4M3 × base',
    backward: 'E5M2 × base',
    doc:
      'x̂ = E4M3(x · 448 / a) · a / 448, where a is the largest |x| of the last 16 steps (delayed ' +
      'scaling; the first step uses its own |x|); dŷ = E5M2(dy · 57344 / a) · a / 57344, where a ' +
      'is the largest |dy| of this tensor. The base is used as stored; sums are f32.',
  },
  nvfp4: {
    arithmetic: 'nvfp4',
    forward: 'E2M1 × base',
    backward: 'E2M1, rounded stochastically × base',
    doc:
      'In blocks of 16 along the summed dimension: s = E4M3(amax₁₆ / 6 · 2688 / a), ' +
      'x̂ = E2M1(x · 2688 / (a · s)) · s · a / 2688, where a is the largest |x| of this tensor. Gradients ' +
      'are rounded stochastically with Philox random numbers, keyed by seed, step, op and element. The ' +
      'base is used as stored; sums are f32.',
  },
} as const satisfies Record<string, MatmulSpec>

export type MatmulName = keyof typeof MATMULS

export type RecipeSpec = {
  /** Its column in result tables. */
  column: string
  /** Storage of the base's projections. */
  storage: Dtype
  /** The arithmetic, or the default if there are choices. */
  matmul: MatmulName
  /** Other values that `matmul` may have. */
  choices: readonly MatmulName[]
  /** Formula of an element of the stored base. */
  formula: string
  /** Bits per element, including scales. */
  bits: number
}

export const RECIPE_TABLE = {
  bf16: { column: 'BF16', storage: 'bf16', matmul: 'bf16', choices: [], formula: 'w', bits: 16 },
  fp8: {
    column: 'FP8',
    storage: 'fp8_tensor',
    matmul: 'fp8-hybrid',
    choices: [],
    formula: 'E4M3 code · s, with s = amax / 448 in f32 for the tensor',
    bits: 8,
  },
  qfp8: {
    column: 'QoFP8',
    storage: 'fp8_tiles',
    matmul: 'bf16',
    choices: ['bf16', 'fp8-hybrid'],
    formula: 'E4M3 code · s, with s = amax / 448 in f32 for each tile of 128 × 128',
    bits: 8 + 32 / 128 ** 2,
  },
  fp4: {
    column: 'FP4',
    storage: 'nvfp4',
    matmul: 'nvfp4',
    choices: [],
    formula: 'E2M1 code · E4M3 scale of 16 · amax / 2688',
    bits: 4 + 8 / 16,
  },
  qfp4: {
    column: 'QoFP4',
    storage: 'nvfp4',
    matmul: 'bf16',
    choices: ['bf16', 'fp8-hybrid'],
    formula: 'E2M1 code · E4M3 scale of 16 · amax / 2688',
    bits: 4 + 8 / 16,
  },
  qbnb: {
    column: 'QoNF4',
    storage: 'nf4',
    matmul: 'bf16',
    choices: ['bf16', 'fp8-hybrid'],
    formula: 'NF4 code · absmax of 64, the absmax itself an 8-bit code in groups of 256',
    bits: 4 + 8 / 64 + 32 / (64 * 256),
  },
} as const satisfies Record<string, RecipeSpec>

export type Recipe = keyof typeof RECIPE_TABLE
export const RECIPES = Object.keys(RECIPE_TABLE) as Recipe[]
/** Recipes with a choice of arithmetic: the base is stored quantised, and multiplied in bf16 by default. */
export const QUANTIZED_RECIPES: readonly Recipe[] = RECIPES.filter(
  name => RECIPE_TABLE[name].choices.length > 0,
)
