/**
 * Names in other trainers: other names of a key or value, and keys without a counterpart here, each with the
 * reason.
 */
import type { TrainConfig } from './config.ts'

type Key = keyof TrainConfig

/** Other names of a key: those of transformers, TRL, PEFT, axolotl and Unsloth, and shorter ones. */
export const ALIASES: Readonly<Record<string, Key>> = {
  memory: 'memory_limit',
  samples: 'dataset_samples',
  base_model: 'model',
  model_name: 'model',
  model_name_or_path: 'model',
  dataset_name: 'dataset',
  dataset_train_split: 'dataset_split',
  dataset_test_split: 'eval_dataset_split',
  dataset_config: 'dataset_subset',
  dataset_config_name: 'dataset_subset',
  lr: 'learning_rate',
  lr_scheduler: 'lr_scheduler_type',
  optim: 'optimizer',
  r: 'lora_rank',
  lora_r: 'lora_rank',
  target_modules: 'lora_target_modules',
  max_length: 'max_seq_length',
  sequence_len: 'max_seq_length',
  sample_packing: 'packing',
  micro_batch_size: 'per_device_train_batch_size',
  gradient_accumulation: 'gradient_accumulation_steps',
  epochs: 'num_train_epochs',
  num_epochs: 'num_train_epochs',
  max_norm: 'max_grad_norm',
  val_set_size: 'eval_split',
  test_size: 'eval_split',
  random_state: 'seed',
  batch_size: 'per_device_train_batch_size',
  iters: 'max_steps',
  save_every: 'save_steps',
  lora_modules_to_save: 'modules_to_save',
  val_dataset: 'eval_dataset',
  steps_per_eval: 'eval_steps',
  rl: 'method',
  rlhf_beta: 'beta',
  dpo_beta: 'beta',
  orpo_alpha: 'beta',
  rslora: 'use_rslora',
  dora: 'use_dora',
  peft_use_dora: 'use_dora',
  peft_use_rslora: 'use_rslora',
  resume_adapter_file: 'init_adapter',
  lora_model_dir: 'init_adapter',
  resume_from_checkpoint: 'resume',
  chat_template_path: 'chat_template',
  chat_template_jinja: 'chat_template',
}

/** Other names of a value. */
export const VALUE_ALIASES: Readonly<Partial<Record<Key, Readonly<Record<string, string>>>>> = {
  optimizer: {
    adamw_torch: 'adamw',
    adamw_torch_fused: 'adamw',
    adamw_hf: 'adamw',
    adamw_bnb_8bit: 'adamw_8bit',
    paged_adamw_8bit: 'adamw_8bit',
  },
}

const MIX = 'dataset names one data set; dataset_mix lists several, each with path, subset, split and weight'
const ALONE = 'a run is one process on one machine'
const PRECISION = 'recipe and compute_dtype set the number formats of a run'
const RECOMPUTE = 'use recompute: all recomputes every activation, none keeps them, auto fits memory_limit'
const ANSWERS = 'train_on: assistant trains on the answers only, all on everything'
const FLASH = 'there is one attention kernel, which keeps packed documents separate'
const REPORTS = 'metrics.jsonl has every step; report_to: tensorboard also writes event files'

/** Keys of other trainers that are not supported, with the reason. */
export const UNSUPPORTED_KEYS: Readonly<Record<string, string>> = {
  bf16: PRECISION,
  fp16: PRECISION,
  dtype: PRECISION,
  torch_dtype: PRECISION,
  load_in_4bit: 'recipe: qbnb stores the base in NF4, qfp4 in NVFP4',
  load_in_8bit: 'recipe: qfp8 stores the base in 8 bits',
  gradient_checkpointing: RECOMPUTE,
  use_gradient_checkpointing: RECOMPUTE,
  grad_checkpoint: RECOMPUTE,
  full_finetuning: 'lora: false trains every weight',
  fine_tune_type: 'lora: false trains every weight, use_dora: true trains a DoRA adapter',
  adapter: 'an adapter is trained by default; recipe: qbnb stores the base in NF4, as QLoRA does',
  adapter_path: 'output_dir is the directory of the run, init_adapter an adapter to start from',
  lora_target_linear: 'all projections are the default; lora_target_modules selects some',
  num_layers: 'every layer gets an adapter; rank_pattern gives layers other ranks',
  dataset_text_field: 'dataset_columns maps column names: text=NAME',
  mask_prompt: ANSWERS,
  flash_attention: FLASH,
  attn_implementation: FLASH,
  wandb_project: REPORTS,
  logging_steps: 'every step is logged, in metrics.jsonl',
  logging_dir: 'all output of a run is in output_dir',
  eval_strategy: 'eval_steps sets how often to evaluate',
  per_device_eval_batch_size: 'evaluation uses the micro-batches of training',
  metric_for_best_model: 'the best evaluation is the one with the lowest loss',
  save_strategy: 'save_steps sets how often to save a checkpoint',
  remove_unused_columns: 'unused columns are ignored',
  completion_only_loss: 'train_on: completion trains on the completion only, all on everything',
  precompute_ref_log_probs: 'reference scores are always computed before the first step and cached',
  datasets: MIX,
  dataset_mixer: MIX,
  mix_strategy: 'dataset_mix repeats the smaller data sets until the shares hold',
  interleave_probs: 'the weights of dataset_mix are the shares of its data sets',
  max_prompt_length:
    'max_seq_length limits both answers of a pair to half of it each; longer ones are truncated',
  assistant_only_loss: ANSWERS,
  train_on_inputs: ANSWERS,
  neftune_noise_alpha: 'noise on embeddings is not supported',
  bias: 'adapters do not train biases',
  deepspeed: ALONE,
  fsdp: ALONE,
  push_to_hub: 'uploading is not supported',
  hub_model_id: 'uploading is not supported',
}
