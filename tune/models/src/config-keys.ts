/** Keys of config.json: those that are read, those that change nothing here, and no others. */
import { z } from 'zod'
import type { Forward, Layer, Rope } from './model-config.ts'

const size = z.int().positive()
const token = z.int().nonnegative()

const rope = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
})

/** Keys that some family has, by transformers' names. Rows of the families table say what is left out. */
export const configKeys = z.looseObject({
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  /** As many as attention heads where it is null or left out. */
  num_key_value_heads: size.nullish(),
  /** hidden_size / num_attention_heads where it is null or left out. */
  head_dim: size.nullish(),
  hidden_act: z.string().default('silu'),
  max_position_embeddings: size,
  initializer_range: z.number().positive().default(0.02),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  rope_theta: z.number().positive().default(10_000),
  rope_scaling: rope.nullish(),
  rope_parameters: rope.nullish(),
  attention_bias: z.boolean().default(false),
  attention_dropout: z.number().default(0),
  use_sliding_window: z.boolean().default(false),
  sliding_window: z.unknown().optional(),
  max_window_layers: z.unknown().optional(),
  layer_types: z.array(z.string()).nullish(),
  bos_token_id: token.nullish(),
  eos_token_id: z.union([token, z.array(token)]).nullish(),
  pad_token_id: token.nullish(),
})

export type ConfigKeys = z.infer<typeof configKeys>

/** What a row of the families table says of a model, beside what it has in common with Llama. */
export type Difference = Partial<Forward> & {
  ropes?: readonly Rope[]
  layers?: readonly Layer[]
}

/**
 * What transformers writes into a config.json beside the model: nothing of it changes a forward pass here.
 * The second part is how a model was to write, which generation_config.json says now.
 */
const WITHOUT_EFFECT = new Set(
  `
  _attn_implementation _name_or_path add_cross_attention architectures attn_implementation auto_map
  cache_implementation chunk_size_feed_forward cross_attention_hidden_size decoder_start_token_id dtype
  finetuning_task id2label is_decoder is_encoder_decoder is_llama_config label2id model_type
  output_attentions output_hidden_states prefix problem_type pruned_heads quantization_config return_dict
  sep_token_id task_specific_params tf_legacy_loss tie_encoder_decoder tokenizer_class torch_dtype
  torchscript transformers.js_config transformers_version unsloth_fixed unsloth_version use_bfloat16
  use_cache
  bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping
  encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id forced_eos_token_id
  length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences
  output_scores remove_invalid_values repetition_penalty return_dict_in_generate suppress_tokens
  temperature top_k top_p typical_p
`
    .trim()
    .split(/\s+/),
)

/** The first key that nobody here knows. */
export const unknownKey = (json: Readonly<Record<string, unknown>>): string | undefined =>
  Object.keys(json).find(key => !WITHOUT_EFFECT.has(key) && !Object.hasOwn(configKeys.shape, key))
