/** Model parameters of a forward pass, with the names of config.json where they exist there. */
import type { ExpertNames, QuantizedLayout } from '@cairn-tune/weights'
import type { FamilyName } from './families.ts'

/** Scaling of rotary frequencies for longer contexts, by transformers' `rope_type`. */
export type RopeScaling =
  | { type: 'linear'; factor: number }
  | { type: 'llama3'; factor: number; low: number; high: number; original: number }
  | { type: 'yarn'; factor: number; fast: number; slow: number; original: number; truncates: boolean }
  /** Factors of each frequency, for runs within the original length and for longer runs. */
  | { type: 'longrope'; short: readonly number[]; long: readonly number[]; original: number }

/** Rotary embedding parameters. */
export type Rope = {
  theta: number
  /** Rotary dimensions of a head. The dimensions after them are not rotated. */
  width: number
  scaling: RopeScaling | undefined
  /** Factor of cosines and sines. */
  attention_factor: number
}

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

export type Layer = {
  /** The feed-forward part is the model's experts. */
  has_experts: boolean
  /** Index of the rope that rotates queries and keys. Undefined means no rotation. */
  rope: number | undefined
  /** Keys that a query attends to, including its own. 0 means all earlier keys of its document. */
  window: number
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
  /** The softmax of each head has an attention sink: one learned score without a value. */
  sinks: boolean
  /** Queries and keys are normalised before the rotation: each head, or the whole projection. */
  qk_norm: boolean | 'width'
  /** Added to the weight of each norm. */
  weight_offset: 0 | 1
  /** Norms before attention and feed-forward, after each, or both. */
  norms: 'before' | 'after' | 'around'
  /** Query, key and value projections share one matrix, and so do gate and up projections. */
  is_fused: boolean
  /** Gated activation. */
  activation: 'swiglu' | 'geglu'
  /** Experts of the layers that `has_experts`. */
  experts: ExpertsConfig | undefined
  /** Projections with a bias, by the last part of their names. */
  biases: readonly string[]
}

export type ModelConfig = Forward & {
  model_type: FamilyName
  vocab_size: number
  hidden_size: number
  intermediate_size: number
  num_hidden_layers: number
  num_attention_heads: number
  num_key_value_heads: number
  head_dim: number
  rms_norm_eps: number
  max_position_embeddings: number
  tie_word_embeddings: boolean
  initializer_range: number
  bos_token_id: number | undefined
  /** One or several. The first ends a turn. */
  eos_token_ids: number[]
  pad_token_id: number | undefined
  /** The distinct rotations of the model's layers. */
  ropes: readonly Rope[]
  /** One a layer. */
  layers: readonly Layer[]
  /** Storage of the base's frozen projections, if the checkpoint declares it. */
  quantization: QuantizedLayout | undefined
}
