/** Shapes of models by name, as keys of config.json: small ones of our own and those of published models. */
import type { FamilyName } from '@cairn-tune/models'

type Sizes = [
  vocab: number,
  hidden: number,
  ffn: number,
  layers: number,
  heads: number,
  kvHeads: number,
  headDim: number,
]

const sizes = ([vocab, hidden, ffn, layers, heads, kvHeads, headDim]: Sizes) => ({
  vocab_size: vocab,
  hidden_size: hidden,
  intermediate_size: ffn,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  head_dim: headDim,
})

const qwen3 = (isTied: boolean, ...all: Sizes) => ({
  model_type: 'qwen3' as const,
  ...sizes(all),
  tie_word_embeddings: isTied,
  rms_norm_eps: 1e-6,
  rope_theta: 1e6,
  max_position_embeddings: 40960,
})

const llama3 = (isTied: boolean, factor: number, ...all: Sizes) => ({
  model_type: 'llama' as const,
  ...sizes(all),
  tie_word_embeddings: isTied,
  rms_norm_eps: 1e-5,
  rope_theta: 500_000,
  rope_scaling: {
    rope_type: 'llama3',
    factor,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  },
  max_position_embeddings: 131072,
})

/** Qwen2 does not set the size of its heads. */
const qwen2 = (isTied: boolean, ...all: Sizes) => {
  const { head_dim: _derived, ...keys } = sizes(all)
  return {
    model_type: 'qwen2' as const,
    ...keys,
    tie_word_embeddings: isTied,
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    max_position_embeddings: 32768,
  }
}

const QWEN = 151936

export const SHAPES = {
  tiny: qwen3(true, 320, 64, 192, 2, 4, 2, 32),
  small: qwen3(true, 320, 256, 768, 4, 8, 4, 64),
  'qwen3-0.6b': qwen3(true, QWEN, 1024, 3072, 28, 16, 8, 128),
  'qwen3-1.7b': qwen3(true, QWEN, 2048, 6144, 28, 16, 8, 128),
  'qwen3-4b': qwen3(true, QWEN, 2560, 9728, 36, 32, 8, 128),
  'qwen3-8b': qwen3(false, QWEN, 4096, 12288, 36, 32, 8, 128),
  'qwen2.5-0.5b': qwen2(true, QWEN, 896, 4864, 24, 14, 2, 64),
  'qwen2.5-7b': qwen2(false, 152064, 3584, 18944, 28, 28, 4, 128),
  'llama-3.2-1b': llama3(true, 32, 128256, 2048, 8192, 16, 32, 8, 64),
  'llama-3.1-8b': llama3(false, 8, 128256, 4096, 14336, 32, 32, 8, 128),
  'smollm2-135m': {
    model_type: 'llama',
    ...sizes([49152, 576, 1536, 30, 9, 3, 64]),
    tie_word_embeddings: true,
    rms_norm_eps: 1e-5,
    rope_theta: 100_000,
    max_position_embeddings: 8192,
  },
  'mistral-7b': {
    model_type: 'mistral',
    ...sizes([32768, 4096, 14336, 32, 32, 8, 128]),
    rms_norm_eps: 1e-5,
    rope_theta: 1e6,
    max_position_embeddings: 32768,
    sliding_window: null,
  },
  'qwen3-30b-a3b': {
    ...qwen3(false, QWEN, 2048, 6144, 48, 32, 4, 128),
    model_type: 'qwen3_moe',
    num_experts: 128,
    num_experts_per_tok: 8,
    moe_intermediate_size: 768,
    norm_topk_prob: true,
  },
  'gpt-oss-20b': {
    model_type: 'gpt_oss',
    ...sizes([201088, 2880, 2880, 24, 64, 8, 64]),
    num_local_experts: 32,
    num_experts_per_tok: 4,
    sliding_window: 128,
    rope_theta: 150_000,
    max_position_embeddings: 131072,
    quantization_config: { quant_method: 'mxfp4' },
  },
  'phi-3-mini': {
    model_type: 'phi3',
    ...sizes([32064, 3072, 8192, 32, 32, 32, 96]),
    rms_norm_eps: 1e-5,
    max_position_embeddings: 4096,
    original_max_position_embeddings: 4096,
    sliding_window: 2047,
  },
  'gemma-3-1b': {
    model_type: 'gemma3_text',
    ...sizes([262144, 1152, 6912, 26, 4, 1, 256]),
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: 256,
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    rope_local_base_freq: 10_000,
    max_position_embeddings: 32768,
    sliding_window: 512,
    sliding_window_pattern: 6,
  },
  'smollm3-3b': {
    model_type: 'smollm3',
    ...sizes([128256, 2048, 11008, 36, 16, 4, 128]),
    rms_norm_eps: 1e-6,
    rope_theta: 5e6,
    max_position_embeddings: 65536,
    no_rope_layer_interval: 4,
  },
} as const satisfies Record<string, Readonly<Record<string, unknown>> & { model_type: FamilyName }>

export type ShapeName = keyof typeof SHAPES

/**
 * Keys that reduce a shape to its first layers, with a proportionally smaller vocabulary, so that the parts
 * of a step keep their shares of its time.
 */
export function truncateShape(shape: ShapeName, layers: number): Record<string, number> {
  const { vocab_size, num_hidden_layers } = SHAPES[shape]
  const vocabulary = Math.ceil((vocab_size * layers) / num_hidden_layers / 128) * 128
  return { num_hidden_layers: layers, vocab_size: Math.max(512, vocabulary) }
}
