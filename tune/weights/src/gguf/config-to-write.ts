/** The configuration of a model to write, with the names of config.json and defaults filled in. */
export type ConfigToWrite = {
  model_type: string
  vocab_size: number
  hidden_size: number
  intermediate_size: number
  num_hidden_layers: number
  num_attention_heads: number
  num_key_value_heads: number
  head_dim: number
  rms_norm_eps: number
  max_position_embeddings: number
  /** Number of experts, experts per token, size of one, and the limit of gates and ups. */
  experts:
    | {
        count: number
        top_k: number
        expert_intermediate_size: number
        shared_intermediate_size: number
        softmax_over_all: boolean
        clamp: { alpha: number; limit: number } | undefined
      }
    | undefined
  /**
   * Keys that a query of each layer sees, 0 for all; and the layer's index in `ropes`, undefined for none.
   */
  layers: readonly { window: number; rope: number | undefined }[]
  /** Projections with a bias, by the last parts of their names. */
  biases: readonly string[]
  /** Factor of attention scores. */
  attention_scale: number
  /** Factors of embeddings, of what a layer adds to its rows, and of logits. */
  embedding_multiplier: number
  residual_multiplier: number
  logits_scale: number
  /** Rotary embedding parameters. If there is one entry, it applies to every layer. */
  ropes: readonly {
    theta: number
    /** Rotary dimensions of a head. */
    width: number
    scaling: { type: string; factor?: number; fast?: number; slow?: number; original?: number } | undefined
    attention_factor: number
  }[]
}
