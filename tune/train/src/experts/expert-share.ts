/**
 * Experts divided among the ranks of a run: each has the weights, the adapters and the optimizer's states of
 * its own experts, and all ranks have everything else.
 */
import { byteLength, type Dtype, type Shape } from '@cairn-tune/ops'
import type { ModelConfig } from '@cairn-tune/models'
import { InputError, UnsupportedError, type ExpertSlice } from '@cairn-tune/weights'
import type { TrainConfig } from '../config.ts'
import type { RankGroup } from '../ranks/group.ts'
import type { MicroStep } from '../record-step.ts'

/** The experts of one of `ranks` ranks. */
export type ExpertShare = { rank: number; ranks: number; local: number }

/** Whether a tensor has a matrix or a vector per expert. */
export const isOfExperts = (name: string): boolean => name.includes('.experts.')

/** The experts of a rank. Undefined if every rank has all of them. Throws if they cannot be divided. */
export function expertShareOf(
  config: TrainConfig,
  model: ModelConfig,
  rank: number,
): ExpertShare | undefined {
  const { expert_parallel: ranks } = config
  if (ranks === 1) return undefined
  const count = model.experts?.count
  if (count === undefined)
    throw new InputError(`expert_parallel: ${config.model} is a ${model.model_type} model without experts`)
  if (count % ranks !== 0)
    throw new InputError(
      `expert_parallel: ${count} experts do not divide among ${ranks} ranks; use a divisor of ${count}`,
    )
  if (model.quantization === 'mxfp4')
    throw new UnsupportedError(
      `expert_parallel: not available for ${config.model}, whose file has all experts in one MXFP4 tensor`,
    )
  return { rank, ranks, local: count / ranks }
}

/** A tensor of a rank: if it belongs to experts, only the part of the rank's own. */
function ownPart<T extends { name: string; shape: Shape }>(
  tensor: T,
  { rank, local }: ExpertShare,
): T & { slice?: ExpertSlice } {
  if (!isOfExperts(tensor.name)) return tensor
  const [count = 0, ...rest] = tensor.shape
  return { ...tensor, shape: [local, ...rest], slice: { first: rank * local, of: count } }
}

/** The step of a rank: its tensors of experts have only its own. The program remains that of one rank. */
export function divideStep(micro: MicroStep, share: ExpertShare | undefined): MicroStep {
  if (!share) return micro
  return {
    ...micro,
    base: micro.base.map(weight => ownPart(weight, share)),
    trained: micro.trained.map(tensor => ownPart(tensor, share)),
  }
}

/** A tensor with all experts. */
export function wholeOf<T extends { shape: Shape; slice?: ExpertSlice | undefined }>(tensor: T): T {
  const { slice, shape } = tensor
  return slice ? { ...tensor, shape: [slice.of, ...shape.slice(1)], slice: undefined } : tensor
}

/** This rank's part of the bytes of a whole tensor. */
export function partOfWhole<
  T extends ArrayBufferView & { subarray(from: number, to: number): T; length: number },
>(whole: T, { shape, slice }: { shape: Shape; slice?: ExpertSlice | undefined }): T {
  if (!slice) return whole
  const each = whole.length / slice.of
  return whole.subarray(slice.first * each, (slice.first + (shape[0] ?? 0)) * each)
}

type Sliced = { name: string; dtype: Dtype; shape: Shape; slice?: ExpertSlice | undefined }

/**
 * Reads a tensor with the experts of all ranks, in their order. Every rank calls it for the same tensors of
 * experts, one after the other.
 */
export async function readWhole(
  group: RankGroup | undefined,
  tensor: Sliced,
  read: (name: string) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const own = await read(tensor.name)
  if (!tensor.slice || !group) return own
  const bytes = byteLength(tensor.dtype, tensor.shape)
  return await group.gatherBytes(own.subarray(0, bytes))
}
