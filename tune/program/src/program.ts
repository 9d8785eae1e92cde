/** A program in TypeScript: tensors and the steps that compute them, in execution order. */
import type { Attrs, Dtype, OpName, Shape } from '@cairn-tune/ops'

/** A value of a program. The caller of a run provides inputs; other tensors are in the program's arena. */
export type Tensor = {
  readonly id: number
  /** The binding name of an input. For others at most a hint. */
  readonly name: string | undefined
  readonly dtype: Dtype
  readonly shape: Shape
  readonly isInput: boolean
}

export type Step = {
  readonly op: OpName
  readonly inputs: Readonly<Record<string, Tensor | undefined>>
  readonly attrs: Attrs
  readonly outputs: Readonly<Record<string, Tensor>>
  /** Outputs that this step writes over an input, besides those that its op always does. */
  readonly inPlace?: Readonly<Record<string, string>>
  /** The block it was recorded in, which may be recomputed. Undefined outside of blocks. */
  readonly block: string | undefined
  /** Backward steps are those that differentiation recorded, and all later ones. */
  readonly phase: 'forward' | 'backward'
}

export type Program = {
  readonly tensors: readonly Tensor[]
  readonly steps: readonly Step[]
  /** Tensors that a run returns, by name. */
  readonly outputs: Readonly<Record<string, Tensor>>
}

export const inputTensors = (step: Step): Tensor[] =>
  Object.values(step.inputs).filter(tensor => tensor !== undefined)
export const outputTensors = (step: Step): Tensor[] => Object.values(step.outputs)

/** Number of steps that read each tensor. A program's output counts as read once more. */
export function countReads({ steps, outputs }: Program): ReadonlyMap<Tensor, number> {
  const reads = new Map<Tensor, number>()
  for (const tensor of [...steps.flatMap(inputTensors), ...Object.values(outputs)])
    reads.set(tensor, (reads.get(tensor) ?? 0) + 1)
  return reads
}
