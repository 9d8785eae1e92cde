/** What a forward pass needs to know of a model, by the names of config.json where it has one. */
import type { QuantizedLayout } from '@cairn-tune/weights'
import type { FamilyName } from './families.ts'

/** How positions turn queries and keys. */
export type Rope = {
  theta: number
  /** Numbers of a head that turn; those behind them stay as they are. */
  width: number
}

export type Layer = {
  /** Which of the model's ropes turns its queries and keys; undefined where nothing does. */
  rope: number | undefined
}

/** What sets a family apart from Llama, and the model's own values of it. */
export type Forward = {
  /** What scores are multiplied by before the softmax. */
  attention_scale: number
  /** Queries and keys are normalised by head before they turn. */
  qk_norm: boolean
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
