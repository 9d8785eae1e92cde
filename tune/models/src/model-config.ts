/** What a forward pass needs to know of a model, by the names of config.json where it has one. */
import type { QuantizedLayout } from '@cairn-tune/weights'
import type { FamilyName } from './families.ts'

/** How frequencies of a rope were stretched for longer texts, by transformers' `rope_type`. */
export type RopeScaling =
  | { type: 'linear'; factor: number }
  | { type: 'llama3'; factor: number; low: number; high: number; original: number }
  | { type: 'yarn'; factor: number; fast: number; slow: number; original: number; truncates: boolean }
  /** Factors of each frequency: for runs within the original length, and for longer ones. */
  | { type: 'longrope'; short: readonly number[]; long: readonly number[]; original: number }

/** How positions turn queries and keys. */
export type Rope = {
  theta: number
  /** Numbers of a head that turn; those behind them stay as they are. */
  width: number
  scaling: RopeScaling | undefined
  /** What cosines and sines are multiplied by. */
  attention_factor: number
}

/** The experts of layers that have some. */
export type ExpertsConfig = {
  count: number
  /** Experts that a token goes to. */
  top_k: number
  /** Feed-forward size of one. */
  expert_intermediate_size: number
  /** Weights are parts of the softmax over all experts, not over those chosen. */
  softmax_over_all: boolean
  /** Name of the router in a layer. */
  router: string
  /** The router and the projections of experts add a bias. */
  is_biased: boolean
  /** Gates and ups are rows of one matrix in turn, and limited before they meet; undefined is SwiGLU of two. */
  clamp: { alpha: number; limit: number } | undefined
}

export type Layer = {
  /** Its feed-forward part is the model's experts. */
  has_experts: boolean
  /** Which of the model's ropes rotates its queries and keys; undefined where nothing does. */
  rope: number | undefined
  /** Keys that a query sees, its own among them; 0 is all of its document up to its own. */
  window: number
}

/** What sets a family apart from Llama, and the model's own values of it. */
export type Forward = {
  /** What scores are multiplied by before the softmax. */
  attention_scale: number
  /** What embeddings are multiplied by, rounded to the dtype of activations; 0 is nothing. */
  embedding_scale: number
  /** A head's softmax has one score more, a weight of the layer, that has no value. */
  sinks: boolean
  /** Queries and keys are normalised by head before they turn. */
  qk_norm: boolean
  /** Norms multiply by this plus their weight. */
  weight_offset: 0 | 1
  /** Norms stand before attention and feed-forward, or before and after each. */
  norms: 'before' | 'around'
  /** Queries, keys and values are rows of one matrix, as are gates and ups. */
  is_fused: boolean
  /** How gates let ups through. */
  activation: 'swiglu' | 'geglu'
  /** Experts of the layers that `has_experts`. */
  experts: ExpertsConfig | undefined
  /** Projections that add a bias, by the last parts of their names. */
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
  /** A file may name one or several; the first is the one that ends a turn. */
  eos_token_ids: number[]
  pad_token_id: number | undefined
  /** Different rotations of the model's layers. */
  ropes: readonly Rope[]
  /** One a layer. */
  layers: readonly Layer[]
  /** How the base's frozen projections are stored, where the checkpoint says so. */
  quantization: QuantizedLayout | undefined
}
