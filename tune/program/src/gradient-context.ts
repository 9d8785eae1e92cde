/** What the gradients of a step are made of: its tensors, and how they flow back. */
import type { Step, Tensor } from './program.ts'
import type { Recorder } from './record.ts'

/** The gradient of a loss by itself, where nothing needs to be multiplied. */
export const ONE = 'one'
export type Gradient = Tensor | typeof ONE

export type GradientContext = {
  g: Recorder
  step: Step
  /** An input of the step by name. */
  input: (name: string) => Tensor
  /** An output of the step by name: what the forward pass saved. */
  output: (name: string) => Tensor
  /** Gradient of an output; only asked of outputs that have one. */
  grad: (name: string) => Tensor
  /** The same for a loss, which may be differentiated by itself. */
  lossGrad: (name: string) => Gradient
  isWanted: (input: string) => boolean
  /**
   * What has been summed for an input so far. An op that can add it in its own epilogue hands back the whole
   * sum under `summed`.
   */
  soFar: (input: string) => Tensor | undefined
  /**
   * The step that made an input, where this step alone reads it and nobody asks for its gradient: an op may
   * then answer for both.
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

/** An attribute of a step as a number; 0 where it was left out. */
export const number = (step: Step, name: string): number => Number(step.attrs[name] ?? 0)
