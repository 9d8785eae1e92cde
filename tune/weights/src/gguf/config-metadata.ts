/** A model's configuration as keys of a GGUF file. */
import { InputError, UnsupportedError } from '../errors.ts'
import type { Architecture } from './architectures.ts'
import type { ConfigToWrite } from './config-to-write.ts'
import type { Llama3Rope } from './rope-scaling.ts'
import { f32, text, u32, type MetadataValue } from './writer.ts'

export function configMetadata(row: Architecture, config: ConfigToWrite): Record<string, MetadataValue> {
  const keys = {
    vocab_size: u32(config.vocab_size),
    context_length: u32(config.max_position_embeddings),
    embedding_length: u32(config.hidden_size),
    block_count: u32(config.num_hidden_layers),
    feed_forward_length: u32(config.intermediate_size),
    'attention.head_count': u32(config.num_attention_heads),
    'attention.head_count_kv': u32(config.num_key_value_heads),
    'attention.key_length': u32(config.head_dim),
    'attention.value_length': u32(config.head_dim),
    'attention.layer_norm_rms_epsilon': f32(config.rms_norm_eps),
    'rope.dimension_count': u32(config.head_dim),
    'rope.freq_base': f32(config.ropes[0]?.theta ?? 0),
    ...row.own?.write(config),
  }
  return {
    'general.architecture': text(row.name),
    ...Object.fromEntries(Object.entries(keys).map(([key, value]) => [`${row.name}.${key}`, value])),
  }
}

const number = (json: Record<string, unknown>, key: string): number => {
  const value = json[key]
  return typeof value === 'number' ? value : Number.NaN
}

/** Llama 3's scaling in a config.json. Undefined without scaling; other kinds are rejected. */
export function llama3RopeOf(path: string, json: Record<string, unknown>): Llama3Rope | undefined {
  const rope = (json['rope_scaling'] ?? json['rope_parameters'] ?? {}) as Record<string, unknown>
  const kind = rope['rope_type'] ?? rope['type'] ?? 'default'
  if (kind === 'default') return undefined
  if (kind !== 'llama3')
    throw new UnsupportedError(
      `${path}: cannot write rope scaling ${JSON.stringify(kind)} to a GGUF file; supported: ` +
        '"default", "llama3"',
    )
  const found: Llama3Rope = {
    rope_type: 'llama3',
    factor: number(rope, 'factor'),
    low_freq_factor: number(rope, 'low_freq_factor'),
    high_freq_factor: number(rope, 'high_freq_factor'),
    original_max_position_embeddings: number(rope, 'original_max_position_embeddings'),
  }
  const missing = Object.entries(found).find(([, value]) => Number.isNaN(value))
  if (missing) throw new InputError(`${path}: rope_scaling has no ${missing[0]}`)
  return found
}
