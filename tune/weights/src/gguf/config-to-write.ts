/** What a configuration must say to be written, by the names of config.json, defaults filled in. */
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
  /** How many there are, how many a token has, the size of one, and what limits its gates and ups. */
  experts:
    | {
        count: number
        top_k: number
        expert_intermediate_size: number
        softmax_over_all: boolean
        clamp: { alpha: number; limit: number } | undefined
      }
    | undefined
  /** Keys that a query of each layer sees, 0 for all; which of `ropes` it has, undefined for none. */
  layers: readonly { window: number; rope: number | undefined }[]
  /** What logits of attention are multiplied by. */
  attention_scale: number
  /** How positions turn: the first is that of every layer where there is but one. */
  ropes: readonly {
    theta: number
    /** Numbers of a head that turn. */
    width: number
    scaling: { type: string; factor?: number; fast?: number; slow?: number; original?: number } | undefined
    attention_factor: number
  }[]
}
