/**
 * Every setting of a training run in one table; types, checks, flags and the reference page derive from it.
 * Names and defaults are the spec's where it has them.
 */
import { z } from 'zod'
import { DPO_LOSSES, METHODS } from './methods.ts'
import { RECIPES } from './recipes.ts'

const count = z.int().positive()
/** Of an engine. */
const MOST_THREADS = 1024
const fraction = z.number().min(0).max(1)
/** A number for each of some projections, by the end of its name. */
const pattern = <T extends z.ZodType>(value: T) =>
  z.record(z.string().regex(/^[\w.]+$/, 'names of projections, such as q_proj'), value)

export const configSchema = z.strictObject({
  model: z.string().min(1).describe('Directory of a model, or its name on the hub.'),
  dataset: z.string().min(1).describe('File or directory of data, or its name on the hub.'),
  method: z
    .enum(METHODS)
    .default('sft')
    .describe(
      'What is learned from: examples (sft), pairs of a chosen and a rejected answer (dpo, orpo), or ' +
        'answers rated up or down (kto).',
    ),
  beta: z
    .number()
    .positive()
    .default(0.1)
    .describe('How much dpo and kto hold to the reference; in orpo the weight of the odds.'),
  loss_type: z
    .enum(DPO_LOSSES)
    .default('sigmoid')
    .describe('Loss of a margin in dpo; ipo compares means over the tokens of an answer.'),
  label_smoothing: z
    .number()
    .min(0)
    .lt(0.5)
    .default(0)
    .describe('Share of the pairs that dpo takes to be the wrong way round; of loss_type sigmoid.'),
  desirable_weight: z.number().positive().default(1).describe('Weight in kto of an answer rated up.'),
  undesirable_weight: z.number().positive().default(1).describe('Weight in kto of one rated down.'),
  reference_adapter: z
    .string()
    .min(1)
    .optional()
    .describe('Adapter that the reference of dpo and kto has; it is the base alone by default.'),
  dataset_split: z
    .string()
    .min(1)
    .default('train')
    .describe('Split to train on: the files of a directory that carry this name.'),
  dataset_samples: count
    .optional()
    .describe('Number of rows used: the first ones, repeated if there are fewer. All rows by default.'),
  dataset_columns: z
    .array(z.string().regex(/^[^=]+=[^=]+$/, 'a pair such as question=problem'))
    .default([])
    .describe('Column names of the data, such as question=problem,answer=solution.'),
  eval_dataset: z
    .string()
    .min(1)
    .optional()
    .describe('Data for evaluation, which is not trained on: a file, directory or name, as for dataset.'),
  eval_split: z
    .number()
    .positive()
    .optional()
    .describe(
      'Documents of dataset that are held out for evaluation: their number, or below 1 a fraction of all.',
    ),
  bad_rows: z
    .enum(['skip', 'error'])
    .default('skip')
    .describe(
      'Rows that cannot be read, or that the chat template refuses: skipped and counted, or an error.',
    ),
  output_dir: z
    .string()
    .min(1)
    .default('./output')
    .describe('Where the adapter, checkpoints, metrics and charts go.'),

  recipe: z.enum(RECIPES).default('bf16').describe('How base weights are stored and multiplied.'),
  matmul: z
    .enum(['bf16', 'fp8-hybrid'])
    .optional()
    .describe('Arithmetic of the matmuls of qfp8, qfp4 and qbnb; bf16 by default.'),
  compute_dtype: z
    .enum(['bf16', 'f32'])
    .default('bf16')
    .describe('Format of activations and of all other matmuls; f32 is for checking numbers.'),
  skip_quant_first_layers: z.int().nonnegative().default(0).describe('Layers at the start that stay bf16.'),
  skip_quant_last_layers: z.int().nonnegative().default(0).describe('Layers at the end that stay bf16.'),

  lora: z.boolean().default(true).describe('Train an adapter; false trains every weight.'),
  lora_rank: count.max(64).default(16).describe('Rank of the adapter.'),
  lora_expert_rank: count
    .max(64)
    .optional()
    .describe(
      'Rank of the adapters of feed-forward projections in a model with experts; lora_rank by default.',
    ),
  lora_alpha: z.number().positive().default(32).describe('The adapter is scaled by alpha / rank.'),
  use_rslora: z.boolean().default(false).describe('The adapter is scaled by alpha / √rank instead.'),
  router_aux_loss_coef: z
    .number()
    .nonnegative()
    .default(0)
    .describe('Weight of the loss that keeps experts busy alike, in models that have them; of method sft.'),
  init_adapter: z
    .string()
    .min(1)
    .optional()
    .describe('Adapter that training starts from; a new one by default.'),
  adapter_layout: z
    .enum(['per-expert', 'peft-fused'])
    .default('per-expert')
    .describe(
      'How adapters of experts are written: a pair of matrices for each expert, or one for all as PEFT ' +
        'fuses them.',
    ),
  lora_dropout: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('Share of what adapters read that is dropped in training; of method sft.'),
  use_dora: z
    .boolean()
    .default(false)
    .describe('Also trains the length of each row of the adapted weights (DoRA).'),
  rank_pattern: pattern(count.max(64))
    .optional()
    .describe('Ranks of some projections: q_proj=8,layers.3.mlp.up_proj=32; the first that fits counts.'),
  alpha_pattern: pattern(z.number().positive())
    .optional()
    .describe('Alphas of some projections in the same way.'),
  lora_target_modules: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Linears that get an adapter, such as q_proj,v_proj; by default all projections of the layers.',
    ),

  max_seq_length: count.default(2048).describe('Tokens of a row, padding included.'),
  packing: z.boolean().default(true).describe('Put several documents into a row.'),
  too_long: z
    .enum(['truncate', 'error'])
    .default('truncate')
    .describe('What happens to a document longer than a row.'),
  train_on: z
    .enum(['assistant', 'completion', 'all'])
    .default('assistant')
    .describe(
      'Tokens that count in the loss: those the assistant wrote (the answer, the completion); all that ' +
        'follows the prompt of a row with prompt and completion; or all.',
    ),

  per_device_train_batch_size: count.default(2).describe('Rows in a micro-batch.'),
  gradient_accumulation_steps: count.default(4).describe('Micro-batches in an optimizer step.'),
  num_train_epochs: z.number().positive().default(1).describe('Passes over the data.'),
  max_steps: count.optional().describe('Number of optimizer steps; num_train_epochs is then not used.'),

  learning_rate: z.number().positive().default(2e-4).describe('The peak rate of the schedule.'),
  lr_scheduler_type: z
    .enum(['linear', 'cosine', 'constant', 'constant_with_warmup'])
    .default('linear')
    .describe('How the rate falls after the warm-up; constant allows no warm-up.'),
  warmup_ratio: fraction
    .default(0)
    .describe('Warm-up as a fraction of all steps, rounded up; not together with warmup_steps.'),
  warmup_steps: z.int().nonnegative().default(0).describe('Warm-up: steps over which the rate rises from 0.'),
  optimizer: z
    .enum(['adamw', 'adamw_8bit'])
    .default('adamw')
    .describe('AdamW with its moments in f32, or in 8 bits.'),
  weight_decay: z.number().nonnegative().default(0).describe('Decoupled weight decay.'),
  adam_beta1: fraction.default(0.9).describe('Decay of the first moment.'),
  adam_beta2: fraction.default(0.999).describe('Decay of the second moment.'),
  adam_epsilon: z.number().positive().default(1e-8).describe('Added to the denominator of the update.'),
  max_grad_norm: z
    .number()
    .nonnegative()
    .default(1)
    .describe('Limit of the global gradient norm; 0 turns clipping off.'),

  seed: z
    .int()
    .nonnegative()
    .default(42)
    .describe('Seed of the data order, the initial adapter and stochastic rounding.'),
  save_steps: z.int().nonnegative().default(0).describe('Steps between checkpoints; 0 saves one at the end.'),
  eval_steps: z
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'Steps between evaluations; 0 does one at the end. The best so far is kept in output_dir/best.',
    ),
  early_stopping_patience: z
    .int()
    .nonnegative()
    .default(0)
    .describe('The run ends after this many evaluations without a better loss; 0 never ends it.'),
  load_best_model_at_end: z
    .boolean()
    .default(false)
    .describe('The output is the adapter or model with the best evaluation, not the last one.'),
  report_to: z
    .enum(['none', 'tensorboard'])
    .default('none')
    .describe('tensorboard also writes its event files, to output_dir/runs.'),
  save_total_limit: count.default(2).describe('Checkpoints that are kept.'),
  overwrite: z
    .boolean()
    .default(false)
    .describe('Replace an earlier run in output_dir, which is an error otherwise.'),
  resume: z.boolean().default(false).describe('Continue from the newest checkpoint in output_dir.'),
  recompute: z
    .enum(['auto', 'none', 'all'])
    .default('auto')
    .describe('Which activations are recomputed in the backward pass; auto: as few as memory_limit allows.'),
  offload: z
    .enum(['none', 'disk'])
    .default('none')
    .describe(
      'disk leaves the frozen base on the disk: weights of one layer are read in while the layer before ' +
        'runs, for all micro-batches of a step. For a base that does not fit; of method sft.',
    ),
  memory_limit: z
    .string()
    .regex(/^\d+(?:\.\d+)?\s*[KMGT]?i?B$/, 'a size such as 12GiB')
    .optional()
    .describe('Memory that the run may use; by default what the machine or container has left.'),
  device: z
    .string()
    .regex(/^(auto|cpu|cuda(:\d+)?)$/, 'auto, cpu, cuda or cuda:1')
    .default('auto')
    .describe('cpu, cuda or cuda:1; auto takes a card that can do all of the run, else the processor.'),
  threads: count
    .max(MOST_THREADS)
    .optional()
    .describe('Threads; by default one for each core that the process may use.'),
})

export type TrainConfig = z.infer<typeof configSchema>
export const CONFIG_KEYS = Object.keys(configSchema.shape)
