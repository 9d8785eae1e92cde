/**
 * Model families: how each differs from Llama, one row per `model_type` of config.json. The recorder
 * (record-model.ts) reads the configuration that a row derives from config.json. Names, shapes, adapter
 * targets and caches come from its recording (model-parts.ts).
 */
import { EXPERT_NAMES, MIXTRAL_EXPERT_NAMES } from '@cairn-tune/weights'
import type { ConfigKey, ConfigKeys } from './config-keys.ts'
import type { Forward } from './forward.ts'

/** Names of a family's tensors in a GGUF file. */
export type GgufNames = {
  /** Its `general.architecture`. */
  architecture: string
}

export type Family = {
  /** The class that config.json's `architectures` names. */
  architecture: string
  /** Keys of its config.json in addition to the common ones. */
  keys: readonly ConfigKey[]
  /** transformers' defaults for absent keys. */
  defaults: Readonly<Partial<ConfigKeys>>
  /** Differences of the forward pass from Llama's. */
  forward?: (keys: ConfigKeys) => Partial<Forward>
  /** Whether windows are used. True by default. */
  windows?: (keys: ConfigKeys) => boolean
  /** Whether layer i has a window of `sliding_window` keys, if `layer_types` does not say. */
  slides?: (keys: ConfigKeys, i: number) => boolean
  /** Whether layer i rotates queries and keys. True by default. */
  rotates?: (keys: ConfigKeys, i: number) => boolean
  /** Whether layer i has experts. False by default. */
  sparse?: (keys: ConfigKeys, i: number) => boolean
  /** Whether `rope_scaling` applies to layers with windows, too. True by default. */
  scalesWindows?: boolean
  /** Whether `attn_logit_softcapping` and `final_logit_softcapping` are honoured. False by default. */
  softCaps?: boolean
  /** Names that config.json has for the activation besides transformers' own. */
  activations?: readonly string[]
  /** Undefined if the family is not read from GGUF files, nor written to them. */
  gguf: GgufNames | undefined
}

const family = (row: Family): Family => row

const ATTENTION = ['q_proj', 'k_proj', 'v_proj', 'o_proj']
/** Biases requested by `attention_bias` and `mlp_bias`. */
const biases = (c: ConfigKeys) => [
  ...(c.attention_bias ? ATTENTION : []),
  ...(c.mlp_bias ? ['gate_proj', 'up_proj', 'down_proj'] : []),
]
/** Qwen's windows: only in later layers, and only if enabled. */
const QWEN_WINDOWS = {
  windows: (c: ConfigKeys) => c.use_sliding_window,
  slides: (c: ConfigKeys, i: number) => c.use_sliding_window && i >= (c.max_window_layers ?? 0),
}
const QWEN_KEYS = ['use_sliding_window', 'sliding_window', 'max_window_layers', 'layer_types'] as const
const QWEN = { vocab_size: 151936, max_position_embeddings: 32768, max_window_layers: 28 } as const
const SIZES = { hidden_size: 4096, num_hidden_layers: 32, num_attention_heads: 32 } as const

const OLMO = {
  ...SIZES,
  vocab_size: 50304,
  intermediate_size: 11008,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
} as const

/** transformers defaults to 128; every published config sets it. */
const expertCount = (c: ConfigKeys) => c.num_experts ?? c.num_local_experts ?? 128

/** Qwen's layers with experts. */
const isQwenSparse = (c: ConfigKeys, i: number) =>
  !c.mlp_only_layers?.includes(i) && (i + 1) % c.decoder_sparse_step === 0

/** SmolLM3 leaves every nth layer without rotation. */
const rotatesSome = (c: ConfigKeys, i: number) =>
  (c.no_rope_layers?.[i] ?? (i + 1) % (c.no_rope_layer_interval ?? 4)) !== 0

export const FAMILIES = {
  llama: family({
    architecture: 'LlamaForCausalLM',
    keys: ['attention_bias', 'mlp_bias', 'pretraining_tp', 'rope_interleaved'],
    defaults: { ...SIZES, vocab_size: 32000, intermediate_size: 11008, max_position_embeddings: 2048 },
    forward: c => ({ biases: biases(c) }),
    gguf: { architecture: 'llama' },
  }),
  mistral: family({
    architecture: 'MistralForCausalLM',
    keys: ['sliding_window'],
    defaults: {
      ...SIZES,
      vocab_size: 32000,
      intermediate_size: 14336,
      num_key_value_heads: 8,
      max_position_embeddings: 131072,
      sliding_window: 4096,
    },
    slides: () => true,
    gguf: { architecture: 'llama' },
  }),
  qwen2: family({
    architecture: 'Qwen2ForCausalLM',
    keys: QWEN_KEYS,
    defaults: { ...SIZES, ...QWEN, intermediate_size: 22016, num_key_value_heads: 32 },
    forward: () => ({ biases: ['q_proj', 'k_proj', 'v_proj'] }),
    ...QWEN_WINDOWS,
    gguf: { architecture: 'qwen2' },
  }),
  qwen3: family({
    architecture: 'Qwen3ForCausalLM',
    keys: [...QWEN_KEYS, 'attention_bias'],
    defaults: { ...SIZES, ...QWEN, intermediate_size: 22016, num_key_value_heads: 32, head_dim: 128 },
    forward: c => ({ qk_norm: true, biases: biases(c) }),
    ...QWEN_WINDOWS,
    gguf: { architecture: 'qwen3' },
  }),
  qwen3_moe: family({
    architecture: 'Qwen3MoeForCausalLM',
    keys: [
      ...(['use_sliding_window', 'sliding_window', 'max_window_layers', 'attention_bias'] as const),
      ...(['num_experts', 'num_local_experts', 'num_experts_per_tok'] as const),
      ...(['moe_intermediate_size', 'norm_topk_prob', 'decoder_sparse_step', 'mlp_only_layers'] as const),
      ...(['output_router_logits', 'router_aux_loss_coef'] as const),
    ],
    defaults: {
      ...QWEN,
      hidden_size: 2048,
      intermediate_size: 6144,
      num_hidden_layers: 24,
      num_attention_heads: 32,
      num_key_value_heads: 4,
      num_experts_per_tok: 8,
      moe_intermediate_size: 768,
      sliding_window: 4096,
    },
    forward: c => ({
      qk_norm: true,
      biases: biases(c),
      experts: {
        count: expertCount(c),
        top_k: c.num_experts_per_tok ?? 0,
        expert_intermediate_size: c.moe_intermediate_size ?? 0,
        softmax_over_all: !c.norm_topk_prob,
        router: 'mlp.gate',
        names: EXPERT_NAMES,
        is_biased: false,
        shared_intermediate_size: 0,
        clamp: undefined,
      },
    }),
    // Every layer: transformers does not read max_window_layers for this family.
    windows: c => c.use_sliding_window,
    slides: c => c.use_sliding_window,
    sparse: isQwenSparse,
    gguf: { architecture: 'qwen3moe' },
  }),
  qwen2_moe: family({
    architecture: 'Qwen2MoeForCausalLM',
    keys: [
      ...(['use_sliding_window', 'sliding_window', 'max_window_layers', 'layer_types', 'qkv_bias'] as const),
      ...(['num_experts', 'num_local_experts', 'num_experts_per_tok'] as const),
      ...(['moe_intermediate_size', 'norm_topk_prob', 'decoder_sparse_step', 'mlp_only_layers'] as const),
      ...(['shared_expert_intermediate_size', 'output_router_logits', 'router_aux_loss_coef'] as const),
    ],
    defaults: {
      ...QWEN,
      hidden_size: 2048,
      intermediate_size: 5632,
      num_hidden_layers: 24,
      num_attention_heads: 16,
      num_key_value_heads: 16,
      num_experts: 60,
      num_experts_per_tok: 4,
      moe_intermediate_size: 1408,
      shared_expert_intermediate_size: 5632,
      sliding_window: 4096,
    },
    forward: c => ({
      biases: c.qkv_bias ? ['q_proj', 'k_proj', 'v_proj'] : [],
      experts: {
        count: expertCount(c),
        top_k: c.num_experts_per_tok ?? 0,
        expert_intermediate_size: c.moe_intermediate_size ?? 0,
        softmax_over_all: !c.norm_topk_prob,
        router: 'mlp.gate',
        names: EXPERT_NAMES,
        is_biased: false,
        shared_intermediate_size: c.shared_expert_intermediate_size ?? 0,
        clamp: undefined,
      },
    }),
    windows: c => c.use_sliding_window,
    slides: (c, i) => i % 2 === 0 && i < (c.max_window_layers ?? 0),
    sparse: isQwenSparse,
    gguf: { architecture: 'qwen2moe' },
  }),
  mixtral: family({
    architecture: 'MixtralForCausalLM',
    keys: [
      ...(['sliding_window', 'num_local_experts', 'num_experts', 'num_experts_per_tok'] as const),
      ...(['output_router_logits', 'router_aux_loss_coef', 'router_jitter_noise'] as const),
    ],
    defaults: {
      ...SIZES,
      vocab_size: 32000,
      intermediate_size: 14336,
      num_key_value_heads: 8,
      max_position_embeddings: 131072,
      rms_norm_eps: 1e-5,
      rope_theta: 1_000_000,
      num_local_experts: 8,
      num_experts_per_tok: 2,
    },
    forward: c => ({
      experts: {
        count: expertCount(c),
        top_k: c.num_experts_per_tok ?? 0,
        expert_intermediate_size: c.intermediate_size,
        softmax_over_all: false,
        router: 'block_sparse_moe.gate',
        names: MIXTRAL_EXPERT_NAMES,
        is_biased: false,
        shared_intermediate_size: 0,
        clamp: undefined,
      },
    }),
    slides: () => true,
    sparse: () => true,
    gguf: { architecture: 'llama' },
  }),
  gpt_oss: family({
    architecture: 'GptOssForCausalLM',
    keys: [
      ...(['attention_bias', 'sliding_window', 'layer_types', 'num_local_experts', 'num_experts'] as const),
      ...(['num_experts_per_tok', 'experts_per_token', 'initial_context_length'] as const),
      ...(['swiglu_alpha', 'swiglu_limit', 'output_router_logits', 'router_aux_loss_coef'] as const),
    ],
    defaults: {
      vocab_size: 201088,
      hidden_size: 2880,
      intermediate_size: 2880,
      num_hidden_layers: 36,
      num_attention_heads: 64,
      num_key_value_heads: 8,
      head_dim: 64,
      max_position_embeddings: 131072,
      rms_norm_eps: 1e-5,
      rope_theta: 150_000,
      rope_scaling: {
        rope_type: 'yarn',
        factor: 32,
        beta_fast: 32,
        beta_slow: 1,
        truncate: false,
        original_max_position_embeddings: 4096,
      },
      attention_bias: true,
      sliding_window: 128,
    },
    forward: c => ({
      sinks: true,
      biases: biases(c),
      experts: {
        count: expertCount(c),
        top_k: c.num_experts_per_tok ?? c.experts_per_token ?? 4,
        expert_intermediate_size: c.intermediate_size,
        softmax_over_all: false,
        router: 'mlp.router',
        names: EXPERT_NAMES,
        is_biased: true,
        shared_intermediate_size: 0,
        clamp: { alpha: c.swiglu_alpha, limit: c.swiglu_limit },
      },
    }),
    slides: (_, i) => i % 2 === 0,
    sparse: () => true,
    gguf: { architecture: 'gpt-oss' },
  }),
  phi3: family({
    architecture: 'Phi3ForCausalLM',
    keys: [
      ...(['sliding_window', 'original_max_position_embeddings', 'partial_rotary_factor'] as const),
      ...(['resid_pdrop', 'embd_pdrop', 'attention_bias', 'mlp_bias', 'lm_head_bias'] as const),
      ...(['full_attn_mod', 'interpolate_factor'] as const),
    ],
    defaults: {
      ...SIZES,
      vocab_size: 32064,
      hidden_size: 3072,
      intermediate_size: 8192,
      max_position_embeddings: 4096,
      original_max_position_embeddings: 4096,
      rms_norm_eps: 1e-5,
    },
    forward: () => ({ fused: ['qkv', 'gate_up'] }),
    slides: () => true,
    gguf: { architecture: 'phi3' },
  }),
  gemma3_text: family({
    architecture: 'Gemma3ForCausalLM',
    keys: [
      ...(['sliding_window', 'layer_types', 'sliding_window_pattern', '_sliding_window_pattern'] as const),
      ...(['hidden_activation', 'query_pre_attn_scalar', 'rope_local_base_freq'] as const),
      ...(['attention_bias', 'attn_logit_softcapping', 'final_logit_softcapping'] as const),
      'use_bidirectional_attention',
    ],
    defaults: {
      vocab_size: 262208,
      hidden_size: 2304,
      intermediate_size: 9216,
      num_hidden_layers: 26,
      num_attention_heads: 8,
      num_key_value_heads: 4,
      head_dim: 256,
      max_position_embeddings: 131072,
      hidden_act: 'gelu_pytorch_tanh',
      query_pre_attn_scalar: 256,
      sliding_window: 4096,
      tie_word_embeddings: true,
      rope_theta: 1_000_000,
      rope_local_base_freq: 10_000,
    },
    forward: c => ({
      qk_norm: true,
      weight_offset: 1,
      norms: 'around',
      activation: 'geglu',
      attention_scale: (c.query_pre_attn_scalar ?? 1) ** -0.5,
      embedding_scale: Math.sqrt(c.hidden_size),
      biases: biases(c),
    }),
    slides: (c, i) => (i + 1) % (c.sliding_window_pattern ?? c._sliding_window_pattern ?? 6) !== 0,
    gguf: { architecture: 'gemma3' },
  }),
  gemma2: family({
    architecture: 'Gemma2ForCausalLM',
    keys: [
      ...(['sliding_window', 'layer_types', 'hidden_activation', 'query_pre_attn_scalar'] as const),
      ...(['attention_bias', 'attn_logit_softcapping', 'final_logit_softcapping'] as const),
      'use_bidirectional_attention',
    ],
    defaults: {
      vocab_size: 256000,
      hidden_size: 2304,
      intermediate_size: 9216,
      num_hidden_layers: 26,
      num_attention_heads: 8,
      num_key_value_heads: 4,
      head_dim: 256,
      max_position_embeddings: 8192,
      hidden_act: 'gelu_pytorch_tanh',
      query_pre_attn_scalar: 256,
      sliding_window: 4096,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      tie_word_embeddings: true,
    },
    forward: c => ({
      weight_offset: 1,
      norms: 'around',
      activation: 'geglu',
      attention_scale: (c.query_pre_attn_scalar ?? 1) ** -0.5,
      attention_softcap: c.attn_logit_softcapping ?? 0,
      logits_softcap: c.final_logit_softcapping ?? 0,
      embedding_scale: Math.sqrt(c.hidden_size),
      biases: biases(c),
    }),
    slides: (_, i) => i % 2 === 0,
    softCaps: true,
    gguf: undefined,
  }),
  gemma: family({
    architecture: 'GemmaForCausalLM',
    keys: ['attention_bias', 'hidden_activation', 'use_bidirectional_attention'],
    defaults: {
      vocab_size: 256000,
      hidden_size: 3072,
      intermediate_size: 24576,
      num_hidden_layers: 28,
      num_attention_heads: 16,
      num_key_value_heads: 16,
      head_dim: 256,
      max_position_embeddings: 8192,
      hidden_act: 'gelu_pytorch_tanh',
      tie_word_embeddings: true,
    },
    forward: c => ({
      weight_offset: 1,
      activation: 'geglu',
      embedding_scale: Math.sqrt(c.hidden_size),
      biases: biases(c),
    }),
    // The official files say gelu and mean its approximation.
    activations: ['gelu'],
    gguf: undefined,
  }),
  olmo2: family({
    architecture: 'Olmo2ForCausalLM',
    keys: ['attention_bias'],
    defaults: OLMO,
    forward: c => ({ qk_norm: 'width', norms: 'after', biases: biases(c) }),
    gguf: undefined,
  }),
  olmo3: family({
    architecture: 'Olmo3ForCausalLM',
    keys: ['attention_bias', 'sliding_window', 'layer_types'],
    defaults: { ...OLMO, rope_theta: 500_000, sliding_window: 4096 },
    forward: c => ({ qk_norm: 'width', norms: 'after', biases: biases(c) }),
    slides: (_, i) => (i + 1) % 4 !== 0,
    scalesWindows: false,
    gguf: undefined,
  }),
  granite: family({
    architecture: 'GraniteForCausalLM',
    keys: [
      ...(['attention_bias', 'mlp_bias', 'attention_multiplier', 'embedding_multiplier'] as const),
      ...(['residual_multiplier', 'logits_scaling'] as const),
    ],
    defaults: { ...SIZES, vocab_size: 32000, intermediate_size: 11008, max_position_embeddings: 2048 },
    forward: c => ({
      attention_scale: c.attention_multiplier,
      embedding_multiplier: c.embedding_multiplier,
      residual_multiplier: c.residual_multiplier,
      logits_scale: 1 / c.logits_scaling,
      biases: biases(c),
    }),
    gguf: { architecture: 'granite' },
  }),
  glm4: family({
    architecture: 'Glm4ForCausalLM',
    keys: ['attention_bias', 'partial_rotary_factor'],
    defaults: {
      vocab_size: 151552,
      hidden_size: 4096,
      intermediate_size: 13696,
      num_hidden_layers: 40,
      num_attention_heads: 32,
      num_key_value_heads: 2,
      head_dim: 128,
      max_position_embeddings: 131072,
      rms_norm_eps: 1.5625e-7,
      partial_rotary_factor: 0.5,
      attention_bias: true,
    },
    forward: c => ({
      fused: ['gate_up'],
      norms: 'around',
      norm_names: ['post_self_attn_layernorm', 'post_attention_layernorm', 'post_mlp_layernorm'],
      rotates_neighbours: true,
      biases: c.attention_bias ? ['q_proj', 'k_proj', 'v_proj'] : [],
    }),
    gguf: undefined,
  }),
  smollm3: family({
    architecture: 'SmolLM3ForCausalLM',
    keys: [
      ...(['attention_bias', 'mlp_bias', 'pretraining_tp', 'no_rope_layers'] as const),
      ...([...QWEN_KEYS, 'no_rope_layer_interval'] as const),
    ],
    defaults: {
      vocab_size: 128256,
      hidden_size: 2048,
      intermediate_size: 11008,
      num_hidden_layers: 36,
      num_attention_heads: 16,
      num_key_value_heads: 4,
      max_position_embeddings: 32768,
      rope_theta: 2_000_000,
      tie_word_embeddings: true,
    },
    forward: c => ({ biases: biases(c) }),
    windows: c => c.use_sliding_window,
    slides: (c, i) => c.use_sliding_window && !rotatesSome(c, i),
    rotates: rotatesSome,
    gguf: { architecture: 'smollm3' },
  }),
} as const satisfies Record<string, Family>

export type FamilyName = keyof typeof FAMILIES
export const FAMILY_NAMES = Object.keys(FAMILIES) as FamilyName[]

/** The family of a model_type. Undefined if unknown. */
export const familyOf = (type: unknown): [FamilyName, Family] | undefined => {
  const name = FAMILY_NAMES.find(known => known === type)
  return name && [name, FAMILIES[name]]
}
