/** GGUF keys of a single architecture, and their counterparts in config.json. */
import { UnsupportedError } from '../errors.ts'
import type { ConfigToWrite } from './config-to-write.ts'
import type { GgufFile } from './gguf-file.ts'
import { shortest } from './shortest.ts'
import { f32, text, u32, type MetadataValue } from './writer.ts'

export type OwnKeys = {
  /** Without the architecture prefix. */
  keys: readonly string[]
  /** Keys of config.json for a file. `key` gives the full name of a file's key. */
  read: (file: GgufFile, key: (name: string) => string) => Record<string, unknown>
  write: (config: ConfigToWrite) => Record<string, MetadataValue>
  /** Whether these keys include windows and scaled positions. Otherwise the architecture has neither. */
  placesTokens?: true
}

const EXPERT_KEYS = ['expert_count', 'expert_used_count', 'expert_feed_forward_length'] as const

function readExperts({ metadata }: GgufFile, key: (name: string) => string) {
  const whole = (name: string) => metadata.needs(key(name), metadata.whole(key(name)))
  const [count, top_k, size] = [
    whole('expert_count'),
    whole('expert_used_count'),
    whole('expert_feed_forward_length'),
  ]
  return { count, top_k, size }
}

const expertKeys = ({ experts }: ConfigToWrite): Record<string, MetadataValue> => ({
  expert_count: u32(experts?.count ?? 0),
  expert_used_count: u32(experts?.top_k ?? 0),
  expert_feed_forward_length: u32(experts?.expert_intermediate_size ?? 0),
})

export const QWEN_EXPERT_KEYS: OwnKeys = {
  keys: EXPERT_KEYS,
  read(file, key) {
    const { count, top_k, size } = readExperts(file, key)
    return {
      num_experts: count,
      num_experts_per_tok: top_k,
      moe_intermediate_size: size,
      // llama.cpp divides the weights of a token's experts by their sum.
      norm_topk_prob: true,
    }
  },
  write(config) {
    if (config.experts?.softmax_over_all)
      throw new UnsupportedError(
        'cannot write norm_topk_prob: false to a GGUF file: ' +
          "llama.cpp always divides the weights of a token's experts by their sum",
      )
    return expertKeys(config)
  },
}

const SHARED_SIZE = 'expert_shared_feed_forward_length'

export const QWEN2_EXPERT_KEYS: OwnKeys = {
  keys: [...EXPERT_KEYS, SHARED_SIZE],
  read(file, key) {
    const { count, top_k, size } = readExperts(file, key)
    return {
      num_experts: count,
      num_experts_per_tok: top_k,
      moe_intermediate_size: size,
      shared_expert_intermediate_size: file.metadata.needs(
        key(SHARED_SIZE),
        file.metadata.whole(key(SHARED_SIZE)),
      ),
      // llama.cpp keeps the weights of a token's experts as the softmax of all gives them.
      norm_topk_prob: false,
    }
  },
  write(config) {
    if (config.experts && !config.experts.softmax_over_all)
      throw new UnsupportedError(
        'cannot write norm_topk_prob: true to a GGUF file of qwen2moe: ' +
          "llama.cpp never divides the weights of a token's experts by their sum",
      )
    if (!config.biases.includes('q_proj'))
      throw new UnsupportedError(
        'cannot write qkv_bias: false to a GGUF file of qwen2moe, in which q, k and v have biases',
      )
    return { ...expertKeys(config), [SHARED_SIZE]: u32(config.experts?.shared_intermediate_size ?? 0) }
  },
}

export const MIXTRAL_KEYS: OwnKeys = {
  keys: ['expert_count', 'expert_used_count'],
  read({ metadata }, key) {
    const whole = (name: string) => metadata.needs(key(name), metadata.whole(key(name)))
    return { num_local_experts: whole('expert_count'), num_experts_per_tok: whole('expert_used_count') }
  },
  write({ experts }) {
    return { expert_count: u32(experts?.count ?? 0), expert_used_count: u32(experts?.top_k ?? 0) }
  },
}

/** Factors of Granite. */
export const GRANITE_KEYS: OwnKeys = {
  keys: ['embedding_scale', 'residual_scale', 'attention.scale', 'logit_scale'],
  read({ metadata }, key) {
    const factor = (name: string) => {
      const value = metadata.number(key(name))
      return value === undefined ? undefined : shortest(value)
    }
    return {
      embedding_multiplier: factor('embedding_scale') ?? 1,
      residual_multiplier: factor('residual_scale') ?? 1,
      attention_multiplier: metadata.needs(key('attention.scale'), factor('attention.scale')),
      logits_scaling: metadata.needs(key('logit_scale'), factor('logit_scale')),
    }
  },
  write: config => ({
    embedding_scale: f32(config.embedding_multiplier),
    residual_scale: f32(config.residual_multiplier),
    'attention.scale': f32(config.attention_scale),
    logit_scale: f32(1 / config.logits_scale),
  }),
}

/** llama.cpp leaves every fourth layer without rotation, regardless of the file. */
const SMOLLM_INTERVAL = 4
export const SMOLLM_KEYS: OwnKeys = {
  keys: [],
  read: () => ({ no_rope_layer_interval: SMOLLM_INTERVAL, use_sliding_window: false }),
  write({ layers }) {
    const wrong = layers.findIndex(
      ({ rope }, i) => (rope === undefined) !== ((i + 1) % SMOLLM_INTERVAL === 0),
    )
    if (wrong >= 0)
      throw new UnsupportedError(
        `in a GGUF file of smollm3 all layers but every ${SMOLLM_INTERVAL}th have positions; ` +
          `layer ${wrong} does not follow this pattern`,
      )
    return {}
  },
}

export const PHI_KEYS: OwnKeys = {
  keys: ['attention.sliding_window'],
  read({ metadata }, key) {
    const window = metadata.whole(key('attention.sliding_window')) ?? 0
    return { sliding_window: window > 0 ? window : null }
  },
  write({ layers, ropes: [rope], head_dim }) {
    if (rope && rope.width !== head_dim)
      throw new UnsupportedError(
        `cannot write heads of ${head_dim} numbers with ${rope.width} rotary dimensions to a GGUF ` +
          'file of phi3',
      )
    return { 'attention.sliding_window': u32(layers[0]?.window ?? 0) }
  },
}

/** llama.cpp's constants for every gpt-oss, which files do not contain. */
const CLAMP = { alpha: 1.702, limit: 7 }
const YARN = 'rope.scaling'

export const GPT_OSS_KEYS: OwnKeys = {
  keys: [
    ...EXPERT_KEYS,
    'attention.sliding_window',
    ...['type', 'factor', 'original_context_length', 'yarn_beta_fast', 'yarn_beta_slow'].map(
      name => `${YARN}.${name}`,
    ),
  ],
  placesTokens: true,
  read(file, key) {
    const { count, top_k, size } = readExperts(file, key)
    const { metadata } = file
    return {
      num_local_experts: count,
      num_experts_per_tok: top_k,
      intermediate_size: size,
      sliding_window: metadata.needs(
        key('attention.sliding_window'),
        metadata.whole(key('attention.sliding_window')),
      ),
      attention_bias: true,
      rope_scaling: readYarn(file, key),
      quantization_config: { quant_method: 'mxfp4' },
    }
  },
  write(config) {
    refuseOtherwise(config)
    return {
      ...expertKeys(config),
      'attention.sliding_window': u32(config.layers[0]?.window ?? 0),
      ...writeYarn(config),
    }
  },
}

/** Published models do not round the bounds of the ramp. GGUF has no key for that. */
function readYarn({ path, metadata }: GgufFile, key: (name: string) => string): Record<string, unknown> {
  const type = metadata.text(key(`${YARN}.type`)) ?? 'none'
  if (type === 'none') return { rope_type: 'default' }
  if (type !== 'yarn')
    throw new UnsupportedError(
      `${path}: ${key(`${YARN}.type`)} ${JSON.stringify(type)} is not supported; supported: "yarn", "none"`,
    )
  const needed = (name: string) => {
    const whole = key(`${YARN}.${name}`)
    return metadata.needs(whole, metadata.number(whole))
  }
  return {
    rope_type: 'yarn',
    factor: needed('factor'),
    original_max_position_embeddings: needed('original_context_length'),
    beta_fast: metadata.number(key(`${YARN}.yarn_beta_fast`)) ?? 32,
    beta_slow: metadata.number(key(`${YARN}.yarn_beta_slow`)) ?? 1,
    truncate: false,
  }
}

function writeYarn({ ropes: [rope] }: ConfigToWrite): Record<string, MetadataValue> {
  const { scaling, attention_factor: grown } = rope ?? {}
  if (!scaling) return {}
  const { type, factor = 1, fast = 32, slow = 1, original = 0 } = scaling
  if (type !== 'yarn' || Math.abs((grown ?? 1) - (0.1 * Math.log(factor) + 1)) > 1e-6)
    throw new UnsupportedError(
      `cannot write rope scaling ${JSON.stringify(type)} with an attention factor of ${grown} to a ` +
        'GGUF file of gpt-oss; supported: "yarn" with its own factor',
    )
  return {
    [`${YARN}.type`]: text('yarn'),
    [`${YARN}.factor`]: f32(factor),
    [`${YARN}.original_context_length`]: u32(original),
    [`${YARN}.yarn_beta_fast`]: f32(fast),
    [`${YARN}.yarn_beta_slow`]: f32(slow),
  }
}

/** Constants of the architecture in llama.cpp. */
function refuseOtherwise({ layers, experts }: ConfigToWrite): void {
  const window = layers[0]?.window ?? 0
  const wrong = layers.findIndex((layer, i) => layer.window !== (i % 2 === 0 ? window : 0))
  if (wrong >= 0 || window === 0)
    throw new UnsupportedError(
      'in a GGUF file of gpt-oss every other layer has a window, starting with the first; ' +
        `layer ${Math.max(wrong, 0)} does not follow this pattern`,
    )
  const { alpha, limit } = experts?.clamp ?? {}
  if (alpha !== CLAMP.alpha || limit !== CLAMP.limit)
    throw new UnsupportedError(
      `cannot write swiglu_alpha ${alpha} and swiglu_limit ${limit} to a GGUF file: ` +
        `llama.cpp always uses ${CLAMP.alpha} and ${CLAMP.limit} for gpt-oss`,
    )
}
