/** Keys of config.json: those that are read, those that have no effect here, and no others. */
import { z } from 'zod'

const size = z.int().positive()
const token = z.int().nonnegative()
const positive = z.number().positive()

/** Rotary embedding parameters: `rope_scaling` in older files, `rope_parameters` in newer ones. */
const rope = z.strictObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: positive.optional(),
  partial_rotary_factor: positive.max(1).optional(),
  factor: positive.optional(),
  attention_factor: positive.nullish(),
  original_max_position_embeddings: size.optional(),
  low_freq_factor: positive.optional(),
  high_freq_factor: positive.optional(),
  beta_fast: positive.nullish(),
  beta_slow: positive.nullish(),
  mscale: positive.nullish(),
  mscale_all_dim: positive.nullish(),
  truncate: z.boolean().optional(),
  short_factor: z.array(positive).optional(),
  long_factor: z.array(positive).optional(),
})
export type RopeKeys = z.infer<typeof rope>

/** Keys of every family, with transformers' names. */
const common = {
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  /** Defaults to the number of attention heads when null or absent. */
  num_key_value_heads: size.nullish(),
  /** hidden_size / num_attention_heads when null or absent. */
  head_dim: size.nullish(),
  hidden_act: z.string().default('silu'),
  max_position_embeddings: size,
  initializer_range: positive.default(0.02),
  rms_norm_eps: positive.default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  rope_theta: positive.default(10_000),
  rope_scaling: rope.nullish(),
  /** For the whole model, or by layer type. */
  rope_parameters: z
    .union([rope, z.partialRecord(z.enum(['full_attention', 'sliding_attention']), rope)])
    .nullish(),
  attention_dropout: z.number().default(0),
  bos_token_id: token.nullish(),
  eos_token_id: z.union([token, z.array(token)]).nullish(),
  pad_token_id: token.nullish(),
}

/** Keys of some families. A row of the families table names those it has. */
const special = {
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  lm_head_bias: z.boolean().default(false),
  resid_pdrop: z.number().default(0),
  embd_pdrop: z.number().default(0),
  use_sliding_window: z.boolean().default(false),
  /** transformers writes 0 for a Qwen2-MoE that does not use it. */
  sliding_window: z.int().nonnegative().nullish(),
  max_window_layers: z.int().nonnegative().nullish(),
  layer_types: z.array(z.enum(['full_attention', 'sliding_attention'])).nullish(),
  sliding_window_pattern: size.nullish(),
  _sliding_window_pattern: size.nullish(),
  partial_rotary_factor: positive.max(1).nullish(),
  original_max_position_embeddings: size.nullish(),
  hidden_activation: z.string().nullish(),
  query_pre_attn_scalar: positive.nullish(),
  rope_local_base_freq: positive.nullish(),
  attention_multiplier: positive.default(1),
  embedding_multiplier: positive.default(1),
  residual_multiplier: positive.default(1),
  /** Divides the logits. */
  logits_scaling: positive.default(1),
  attn_logit_softcapping: positive.nullish(),
  final_logit_softcapping: positive.nullish(),
  use_bidirectional_attention: z.boolean().nullish(),
  rope_interleaved: z.boolean().default(false),
  /** How older libraries split matrices. The numbers are the same. */
  pretraining_tp: z.int().nullish(),
  /** 1 for layers that rotate, 0 for others. */
  no_rope_layers: z.array(z.union([z.literal(0), z.literal(1)])).nullish(),
  no_rope_layer_interval: size.nullish(),
  /** An older name of num_experts_per_tok. */
  experts_per_token: size.optional(),
  /** Also part of the rope scaling. */
  initial_context_length: size.optional(),
  swiglu_alpha: positive.default(1.702),
  swiglu_limit: positive.default(7),
  /** Number of experts: the newer name and the older one. */
  num_local_experts: size.optional(),
  num_experts: size.optional(),
  num_experts_per_tok: size.optional(),
  moe_intermediate_size: size.optional(),
  shared_expert_intermediate_size: z.int().nonnegative().nullish(),
  qkv_bias: z.boolean().default(true),
  norm_topk_prob: z.boolean().default(false),
  decoder_sparse_step: size.default(1),
  mlp_only_layers: z.array(z.int().nonnegative()).nullish(),
  output_router_logits: z.boolean().default(false),
  router_aux_loss_coef: z.number().nonnegative().default(0),
  /** Noise in the router's input during training. */
  router_jitter_noise: z.number().default(0),
  full_attn_mod: z.number().nullish(),
  interpolate_factor: z.number().nullish(),
}

export const configKeys = z.looseObject({ ...common, ...special })

export type ConfigKeys = z.infer<typeof configKeys>
/** A key that only some families have. */
export type ConfigKey = keyof typeof special

/** Supported values of keys whose other values would change the model. */
export const SUPPORTED_VALUES: Partial<
  Record<keyof typeof common | ConfigKey, readonly (string | number | boolean)[]>
> = {
  attention_dropout: [0],
  resid_pdrop: [0],
  embd_pdrop: [0],
  lm_head_bias: [false],
  attn_logit_softcapping: [],
  final_logit_softcapping: [],
  use_bidirectional_attention: [false],
  rope_interleaved: [false],
  router_jitter_noise: [0],
  full_attn_mod: [1],
  interpolate_factor: [1],
}

/**
 * Keys that published files contain and that transformers' modelling code of no family reads
 * (test/golden/config-keys.json), or that only select how the same numbers are computed. First those that
 * transformers writes beside the model, then those of other tools and of earlier models, then generation
 * settings, which generation_config.json holds today.
 */
export const WITHOUT_EFFECT: ReadonlySet<string> = new Set(
  `
  _attn_implementation _attn_implementation_autoset _attn_implementation_internal _commit_hash
  _experts_implementation _flash_attn_2_enabled _from_auto _name_or_path _use_default_values
  add_cross_attention architectures attn_implementation auto_map cache_implementation
  chunk_size_feed_forward cross_attention_hidden_size decoder_start_token_id dtype experts_implementation
  finetuning_task gradient_checkpointing id2label is_composition is_decoder is_encoder_decoder
  is_llama_config label2id loss_type model_type num_labels output_attentions output_hidden_states output_past
  prefix problem_type pruned_heads quantization_config return_dict sep_token_id task_specific_params
  tf_legacy_loss tie_encoder_decoder tokenizer_class torch_dtype torchscript transformers_version
  use_bfloat16 use_cache use_return_dict
  max_seq_len max_seq_length max_sequence_length model_max_length neftune_noise_alpha seq_length
  transformers.js_config unsloth_fixed unsloth_version
  bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping
  encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id
  length_penalty max_length max_new_tokens min_length no_repeat_ngram_size num_beam_groups num_beams
  num_return_sequences output_scores remove_invalid_values repetition_penalty return_dict_in_generate
  suppress_tokens temperature top_k top_p typical_p
`
    .trim()
    .split(/\s+/),
)

/**
 * Keys of other families that published files contain with a value that selects nothing, such as
 * Qwen3-Coder's. transformers does not read them.
 */
const SELECTS_NOTHING: Readonly<Record<string, readonly unknown[]>> = {
  attention_chunk_size: [null],
  decoder_sparse_step: [1],
  mlp_only_layers: [null],
  qkv_bias: [false],
  shared_expert_intermediate_size: [0, null],
  use_mrope: [false],
  use_qk_norm: [true],
}

/** The first key that is unknown to a family with these special keys. */
export const unknownKey = (
  json: Readonly<Record<string, unknown>>,
  keys: readonly ConfigKey[],
): string | undefined =>
  Object.keys(json).find(
    key =>
      !WITHOUT_EFFECT.has(key) &&
      !Object.hasOwn(common, key) &&
      !keys.some(known => known === key) &&
      !(Object.hasOwn(SELECTS_NOTHING, key) && SELECTS_NOTHING[key]?.includes(json[key])),
  )
