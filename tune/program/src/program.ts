/** A program as TypeScript keeps it: tensors and the steps that make them, in the order they run. */
import type { Attrs, Dtype, OpName, Shape } from '@cairn-tune/ops'

/** A value of a program. Inputs are lent by whoever runs it; the others live in the program's arena. */
export type Tensor = {
  readonly id: number
  /** Inputs have the name they are bound by, others at most a hint. */
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
  /** The block it was recorded in, which may be recomputed; `undefined` outside of any. */
  readonly block: string | undefined
  /** Backward steps are those that differentiation recorded, and what follows them. */
  readonly phase: 'forward' | 'backward'
}

export type Program = {
  readonly tensors: readonly Tensor[]
  readonly steps: readonly Step[]
  /** Tensors that a run hands back, by name. */
  readonly outputs: Readonly<Record<string, Tensor>>
}

export const inputTensors = (step: Step): Tensor[] =>
  Object.values(step.inputs).filter(tensor => tensor !== undefined)
export const outputTensors = (step: Step): Tensor[] => Object.values(step.outputs)
