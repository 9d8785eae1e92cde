/** What the forward pass of a family does differently from Llama's. */
import type { ExpertNames } from '@cairn-tune/weights'

/** Experts of mixture-of-experts layers. */
export type ExpertsConfig = {
  count: number
  /** Experts chosen per token. */
  top_k: number
  /** Feed-forward size of one expert. */
  expert_intermediate_size: number
  /** The router's softmax covers all experts, not only the chosen ones. */
  softmax_over_all: boolean
  /** Name of the router in a layer. */
  router: string
  names: ExpertNames
  /** The router and the expert projections have biases. */
  is_biased: boolean
  /**
   * Feed-forward size of an expert that every token uses in addition, weighted by the sigmoid of a logit of
   * its own. 0 means none.
   */
  shared_intermediate_size: number
  /** Gate and up rows alternate in one matrix and are clamped. Undefined means SwiGLU of two matrices. */
  clamp: { alpha: number; limit: number } | undefined
}

/** Differences from Llama, with the model's values. */
export type Forward = {
  /** Factor of attention scores before the softmax. */
  attention_scale: number
  /** Factor of embeddings, rounded to the dtype of activations. 0 means none. */
  embedding_scale: number
  /** Another factor of embeddings, not rounded. */
  embedding_multiplier: number
  /**
   * Factor of the outputs of attention and feed-forward before they are added. If it is not 1, the model must
   * have norms before them only.
   */
  residual_multiplier: number
  /** Factor of logits. */
  logits_scale: number
  /** Caps of attention scores and of logits: c·tanh(z / c). 0 means none. */
  attention_softcap: number
  logits_softcap: number
  /** A rotation turns neighbours 2i and 2i + 1, instead of the halves' numbers i. */
  rotates_neighbours: boolean
  /** The softmax of each head has an attention sink: one learned score without a value. */
  sinks: boolean
  /** Queries and keys are normalised before the rotation: each head, or the whole projection. */
  qk_norm: boolean | 'width'
  /** Added to the weight of each norm. */
  weight_offset: 0 | 1
  /** Norms before attention and feed-forward, after each, or both. */
  norms: 'before' | 'after' | 'around'
  /** Names of the norms after attention, and before and after feed-forward, if norms are not 'before'. */
  norm_names: readonly [afterAttention: string, beforeFeedForward: string, afterFeedForward: string]
  /** Projections that share one matrix: query, key and value, and gate and up. */
  fused: readonly ('qkv' | 'gate_up')[]
  /** Gated activation. */
  activation: 'swiglu' | 'geglu'
  /** Experts of the layers that `has_experts`. */
  experts: ExpertsConfig | undefined
  /** Projections with a bias, by the last part of their names. */
  biases: readonly string[]
}
