/** A model that is being recorded, and its layers. */
import type { Arithmetic } from '@cairn-tune/ops'
import type { Recorder, Tensor } from '@cairn-tune/program'
import type { Linear, Weights } from './lora.ts'
import type { ModelConfig } from './model-config.ts'

export type Model = {
  g: Recorder
  config: ModelConfig
  /** Format of activations and matmul operands. Sums are f32. */
  dtype: Arithmetic
  weights: Weights
  linear: Linear
  /** Set if the load-balancing loss of the experts is part of the loss. */
  balance?: Balance | undefined
}

export type Balance = {
  /** Its weight, router_aux_loss_coef. */
  coefficient: number
  /** (T), 0 for padding, which does not count. */
  counted: Tensor
  /** (1): number of tokens that the loss sums over. The balance loss is multiplied by it. */
  scale: Tensor
  /** Sums of each layer with experts that has been recorded so far. */
  sums: Tensor[]
}

/** Recorders for parts of a layer, by the names of these parts in it. */
export type LayerParts = Model & {
  l: number
  norm: (name: string, x: Tensor) => Tensor
  part: (name: string) => string
}
