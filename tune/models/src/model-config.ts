/** Model parameters of a forward pass, with the names of config.json where they exist there. */
import type { QuantizedLayout } from '@cairn-tune/weights'
import type { FamilyName } from './families.ts'
import type { Forward } from './forward.ts'

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

export type Layer = {
  /** The feed-forward part is the model's experts. */
  has_experts: boolean
  /** Index of the rope that rotates queries and keys. Undefined means no rotation. */
  rope: number | undefined
  /** Keys that a query attends to, including its own. 0 means all earlier keys of its document. */
  window: number
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
