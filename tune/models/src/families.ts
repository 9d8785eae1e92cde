/**
 * Model families: what sets each apart, a row by config.json's `model_type`, and nothing else about it
 * anywhere. The recorder (record-model.ts) reads what a row makes of a config.json; names, shapes, targets of
 * adapters and caches are read from what it records (model-parts.ts).
 */
import type { ConfigKeys, Difference } from './config-keys.ts'

/** How a family's tensors are called in a GGUF file. */
export type GgufNames = {
  /** Its `general.architecture`. */
  architecture: string
}

export type Family = {
  /** The class that config.json's `architectures` names. */
  architecture: string
  /** What transformers takes where config.json says nothing. */
  defaults: Readonly<Record<string, unknown>>
  /** How the family's forward pass differs from Llama's. */
  forward: (keys: ConfigKeys) => Difference
  gguf: GgufNames
}

const family = (row: Family): Family => row

export const FAMILIES = {
  qwen3: family({
    architecture: 'Qwen3ForCausalLM',
    defaults: {
      vocab_size: 151936,
      hidden_size: 4096,
      intermediate_size: 22016,
      num_hidden_layers: 32,
      num_attention_heads: 32,
      num_key_value_heads: 32,
      head_dim: 128,
      max_position_embeddings: 32768,
    },
    forward: () => ({ qk_norm: true }),
    gguf: { architecture: 'qwen3' },
  }),
} as const satisfies Record<string, Family>

export type FamilyName = keyof typeof FAMILIES
export const FAMILY_NAMES = Object.keys(FAMILIES) as FamilyName[]

/** The family of a model_type; undefined where no row has it. */
export const familyOf = (type: unknown): [FamilyName, Family] | undefined => {
  const name = FAMILY_NAMES.find(known => known === type)
  return name && [name, FAMILIES[name]]
}
