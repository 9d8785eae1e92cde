/** Input and result of a gradient rule. */
import type { Step, Tensor } from './program.ts'
import type { Recorder } from './record.ts'

/** The gradient of a loss with respect to itself: no multiplication is needed. */
export const ONE = 'one'
export type Gradient = Tensor | typeof ONE

export type GradientContext = {
  g: Recorder
  step: Step
  /** An input of the step by name. */
  input: (name: string) => Tensor
  /** An output of the step by name: what the forward pass saved. */
  output: (name: string) => Tensor
  /** Gradient of an output. Call it only for outputs that have one. */
  grad: (name: string) => Tensor
  /** Gradient of a loss, which may be `ONE`. */
  lossGrad: (name: string) => Gradient
  isWanted: (input: string) => boolean
  /**
   * The sum of an input's gradients so far. An op that can add it in its epilogue returns the whole sum under
   * `summed`.
   */
  soFar: (input: string) => Tensor | undefined
  /**
   * The step that computes an input, if only this step reads it and its gradient is not wanted. An op may
   * then differentiate both at once.
   */
  source: (input: string) => Step | undefined
}

/**
 * Gradients of a step's inputs: parts of their sums, or whole sums. `others` are parts of sums of tensors
 * that the step does not read itself, recorded where they are wanted.
 */
export type InputGradients = {
  parts?: Record<string, Tensor | undefined>
  summed?: Record<string, Tensor | undefined>
  others?: readonly (readonly [Tensor, () => Tensor])[]
}
export type Backward = (flow: GradientContext) => InputGradients

/** An attribute of a step as a number. 0 if absent. */
export const number = (step: Step, name: string): number => Number(step.attrs[name] ?? 0)
