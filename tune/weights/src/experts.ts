/**
 * Weights of experts. A program has them as one tensor of three dimensions, a checkpoint and an adapter as
 * one matrix per expert: `….experts.3.gate_proj.weight` is matrix 3 of `….experts.gate_proj.weight`.
 */
import type { Shape } from '@cairn-tune/ops'
import type { Checkpoint, ExpertSlice } from './checkpoint.ts'
import { mxfp4Names } from './mxfp4-experts.ts'

/** Names of a layer's experts in checkpoints and adapters. */
export type ExpertNames = {
  /** Module of a layer that contains `experts`. */
  module: string
  gate: string
  up: string
  down: string
}

/** The names of most families. */
export const EXPERT_NAMES: ExpertNames = {
  module: 'mlp',
  gate: 'gate_proj',
  up: 'up_proj',
  down: 'down_proj',
}
export const MIXTRAL_EXPERT_NAMES: ExpertNames = {
  module: 'block_sparse_moe',
  gate: 'w1',
  up: 'w3',
  down: 'w2',
}

/** The names that a model with these linears uses for separate gates and ups. Undefined if it has none. */
export const expertNamesOf = (linears: readonly { name: string }[]): ExpertNames | undefined =>
  [EXPERT_NAMES, MIXTRAL_EXPERT_NAMES].find(({ module, gate }) =>
    linears.some(({ name }) => name.endsWith(`.${module}.experts.${gate}`)),
  )

/** The name of one expert's matrix. */
const expertName = (name: string, expert: number): string => name.replace('.experts.', `.experts.${expert}.`)

/** The checkpoint's name of a weight, or of its first matrix if there is one per expert. */
export const storedName = (checkpoint: Checkpoint, name: string): string =>
  checkpoint.tensors.has(name) || checkpoint.tensors.has(mxfp4Names(name).blocks) ? name : expertName(name, 0)

/** Names of a projection's linears in checkpoints and adapters: one, or one per expert. */
export const linearsOf = ({ name, experts }: { name: string; experts?: number | undefined }): string[] =>
  experts === undefined ? [name] : Array.from({ length: experts }, (_, e) => expertName(name, e))

/** The matrices of a tensor of experts, in order. Any other tensor by itself. */
export function matricesOf<T extends { name: string; shape: Shape; slice?: ExpertSlice | undefined }>(
  tensor: T,
): T[] {
  const [count = 0, ...matrix] = tensor.shape
  if (tensor.shape.length !== 3) return [tensor]
  const first = tensor.slice?.first ?? 0
  return Array.from({ length: count }, (_, e) => ({
    ...tensor,
    name: expertName(tensor.name, first + e),
    shape: matrix,
    slice: undefined,
  }))
}

/** The reason why an adapter with matrices of experts belongs to a model with another number of them. */
export function missingExperts(
  names: readonly string[],
  projections: readonly { name: string; experts?: number | undefined }[],
): string | undefined {
  const given = new Set(names.map(name => name.replace(/\.lora_[AB]\.weight$/, '')))
  for (const { name, experts } of projections) {
    if (experts === undefined) continue
    const missing = linearsOf({ name, experts }).filter(one => !given.has(one))
    if (missing.length > 0 && missing.length < experts)
      return (
        `the adapter has ${name} for ${experts - missing.length} experts, but the model has ` +
        `${experts}; it was trained on another base`
      )
  }
  return undefined
}
