/**
 * Every setting of a training run in one table. Types, checks, flags and the reference page derive from it.
 * Names and defaults follow the spec where it has them.
 */
import { z } from 'zod'
import { DPO_LOSSES, METHODS } from './methods.ts'
import { RECIPES } from './recipes.ts'

const count = z.int().positive()
/** Maximum threads of an engine. */
const MAX_THREADS = 1024
const fraction = z.number().min(0).max(1)
/** A value for each of some projections, selected by the end of its name. */
const pattern = <T extends z.ZodType>(value: T) =>
  z.record(z.string().regex(/^[\w.]+$/, 'names of projections, such as q_proj'), value)

/** `ours=theirs`: a column of the data under another name. */
const columnPair = z.string().regex(/^[^=]+=[^=]+$/, 'a pair such as question=problem')

/** A data set of dataset_mix. Keys that it does not have are those of the run. */
const mixEntry = z.strictObject({
  path: z.string().min(1),
  subset: z.string().min(1).optional(),
  split: z.string().min(1).optional(),
  weight: z.number().positive().optional(),
  samples: count.optional(),
  columns: z.array(columnPair).optional(),
})

export const configSchema = z.strictObject({
  model: z.string().min(1).describe('Directory of a model, or its name on the hub.'),
  dataset: z
    .string()
    .min(1)
    .optional()
    .describe('Data file or directory, or a name on the hub. Required without dataset_mix.'),
  dataset_subset: z
    .string()
    .min(1)
    .optional()
    .describe('Subset of a data set that has several, such as main of openai/gsm8k.'),
  dataset_mix: z
    .array(mixEntry)
    .min(1)
    .optional()
    .describe(
      'Several data sets in place of dataset, combined by weight: the share of documents. Without weights, ' +
        'each document is used once.',
    ),
  method: z
    .enum(METHODS)
    .default('sft')
    .describe(
      'Training objective: examples (sft), pairs of a chosen and a rejected answer (dpo, orpo), or ' +
        'answers rated up or down (kto).',
    ),
  beta: z
    .number()
    .positive()
    .default(0.1)
    .describe('Strength of the reference term in dpo and kto; weight of the odds ratio in orpo.'),
  loss_type: z
    .enum(DPO_LOSSES)
    .default('sigmoid')
    .describe('Loss function of dpo; ipo compares means over the tokens of an answer.'),
  label_smoothing: z
    .number()
    .min(0)
    .lt(0.5)
    .default(0)
    .describe('Fraction of pairs that dpo treats as mislabelled; only with loss_type sigmoid or robust.'),
  desirable_weight: z.number().positive().default(1).describe('Weight of an answer rated up, in kto.'),
  undesirable_weight: z.number().positive().default(1).describe('Weight of an answer rated down, in kto.'),
  reference_adapter: z
    .string()
    .min(1)
    .optional()
    .describe('Adapter of the reference model in dpo and kto; by default the reference is the base alone.'),
  dataset_split: z
    .string()
    .min(1)
    .default('train')
    .describe('Split to train on: the files of a directory with this name.'),
  dataset_samples: count
    .optional()
    .describe('Number of rows to use, from the start; rows repeat if there are fewer. All rows by default.'),
  dataset_columns: z
    .array(columnPair)
    .default([])
    .describe('Column mapping of the data, such as question=problem,answer=solution.'),
  eval_dataset: z
    .string()
    .min(1)
    .optional()
    .describe('Data for evaluation: a file, directory or name, as for dataset.'),
  eval_dataset_split: z
    .string()
    .min(1)
    .optional()
    .describe('Split of eval_dataset; by default validation, and test for generated problems.'),
  streaming: z
    .boolean()
    .optional()
    .describe(
      'Read the data while training, in random order within windows, instead of tokenising it first; needs ' +
        'max_steps. By default only data of more than 512 MiB with max_steps.',
    ),
  eval_split: z
    .number()
    .positive()
    .optional()
    .describe('Documents of dataset to hold out for evaluation: a number, or a fraction if below 1.'),
  chat_template: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Chat template in place of that of the model (or of init_adapter): a Jinja file, or the text itself. ' +
        'It is saved with the adapter or model.',
    ),
  bad_rows: z
    .enum(['skip', 'error'])
    .default('skip')
    .describe(
      'Handling of rows that cannot be read or that the chat template rejects: skip and count them, or stop.',
    ),
  output_dir: z
    .string()
    .min(1)
    .default('./output')
    .describe('Directory of the adapter, checkpoints, metrics and charts.'),

  recipe: z.enum(RECIPES).default('bf16').describe('Storage and matmul format of the base weights.'),
  matmul: z
    .enum(['bf16', 'fp8-hybrid'])
    .optional()
    .describe('Matmul format of qfp8, qfp4 and qbnb; bf16 by default.'),
  compute_dtype: z
    .enum(['bf16', 'f32'])
    .default('bf16')
    .describe('Format of activations and of all other matmuls; f32 is for numerical checks.'),
  skip_quant_first_layers: z
    .int()
    .nonnegative()
    .default(0)
    .describe('Number of first layers that stay bf16.'),
  skip_quant_last_layers: z.int().nonnegative().default(0).describe('Number of last layers that stay bf16.'),

  lora: z.boolean().default(true).describe('Train an adapter; false trains every weight.'),
  lora_rank: count.max(64).default(16).describe('Rank of the adapter.'),
  lora_expert_rank: count
    .max(64)
    .optional()
    .describe('Rank of adapters on the feed-forward projections of experts; lora_rank by default.'),
  lora_alpha: z.number().positive().default(32).describe('Scale of the adapter: alpha / rank.'),
  use_rslora: z.boolean().default(false).describe('Scale the adapter by alpha / √rank instead.'),
  router_aux_loss_coef: z
    .number()
    .nonnegative()
    .default(0)
    .describe('Weight of the load-balancing loss of models with experts; only with method sft.'),
  init_adapter: z.string().min(1).optional().describe('Adapter to start from; by default a new one.'),
  adapter_layout: z
    .enum(['per-expert', 'peft-fused'])
    .default('per-expert')
    .describe(
      "Layout of saved expert adapters: one pair of matrices per expert, or PEFT's fused form with " +
        'one pair for all.',
    ),
  lora_dropout: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('Dropout rate on adapter inputs; only with method sft.'),
  use_dora: z
    .boolean()
    .default(false)
    .describe('Also train the norm of each row of the adapted weights (DoRA).'),
  rank_pattern: pattern(count.max(64))
    .optional()
    .describe('Ranks by projection: q_proj=8,layers.3.mlp.up_proj=32; the first match applies.'),
  alpha_pattern: pattern(z.number().positive())
    .optional()
    .describe('Alphas by projection, in the same form.'),
  lora_target_modules: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Projections that get an adapter, such as q_proj,v_proj; by default all projections of the layers.',
    ),

  max_seq_length: count.default(2048).describe('Number of tokens per row, including padding.'),
  packing: z.boolean().default(true).describe('Pack several documents into one row.'),
  too_long: z
    .enum(['truncate', 'error'])
    .default('truncate')
    .describe('Handling of documents longer than a row.'),
  train_on: z
    .enum(['assistant', 'completion', 'all'])
    .default('assistant')
    .describe(
      'Tokens in the loss: those written by the assistant (the answer, the completion); ' +
        'everything after the prompt, for rows with prompt and completion; or all.',
    ),
  modules_to_save: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Modules of the base that are trained whole and saved with the adapter: embed_tokens, lm_head, norms.',
    ),
  trainable_token_indices: z
    .array(z.int().nonnegative())
    .min(1)
    .optional()
    .describe('Ids of tokens whose rows of the embeddings (and of a tied head) are trained.'),
  added_tokens: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Special tokens to add to the tokenizer and the model; their rows are trained.'),

  per_device_train_batch_size: count.default(2).describe('Rows per micro-batch.'),
  gradient_accumulation_steps: count
    .default(4)
    .describe('Micro-batches per optimizer step; with several ranks, of each of them.'),
  num_train_epochs: z.number().positive().default(1).describe('Passes over the data.'),
  max_steps: count.optional().describe('Number of optimizer steps; overrides num_train_epochs.'),

  learning_rate: z.number().positive().default(2e-4).describe('Peak learning rate.'),
  lr_scheduler_type: z
    .enum(['linear', 'cosine', 'constant', 'constant_with_warmup'])
    .default('linear')
    .describe('Decay of the learning rate after the warm-up; constant does not allow a warm-up.'),
  warmup_ratio: fraction
    .default(0)
    .describe('Warm-up as a fraction of all steps, rounded up; not together with warmup_steps.'),
  warmup_steps: z
    .int()
    .nonnegative()
    .default(0)
    .describe('Number of warm-up steps, in which the rate rises from 0.'),
  optimizer: z
    .enum(['adamw', 'adamw_8bit'])
    .default('adamw')
    .describe('AdamW with its moments in f32 or in 8 bits.'),
  weight_decay: z.number().nonnegative().default(0).describe('Decoupled weight decay.'),
  adam_beta1: fraction.default(0.9).describe('Decay of the first moment.'),
  adam_beta2: fraction.default(0.999).describe('Decay of the second moment.'),
  adam_epsilon: z.number().positive().default(1e-8).describe('Added to the denominator of the update.'),
  max_grad_norm: z
    .number()
    .nonnegative()
    .default(1)
    .describe('Maximum global gradient norm; 0 disables clipping.'),

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
      'Steps between evaluations; 0 evaluates once at the end. The best result is kept in output_dir/best.',
    ),
  early_stopping_patience: z
    .int()
    .nonnegative()
    .default(0)
    .describe('Stop after this many evaluations without a better loss; 0 never stops early.'),
  load_best_model_at_end: z
    .boolean()
    .default(false)
    .describe('Write the adapter or model of the best evaluation instead of the last one.'),
  report_to: z
    .enum(['none', 'tensorboard'])
    .default('none')
    .describe('tensorboard also writes event files to output_dir/runs.'),
  save_total_limit: count.default(2).describe('Number of checkpoints to keep.'),
  overwrite: z
    .boolean()
    .default(false)
    .describe('Replace an earlier run in output_dir; otherwise that is an error.'),
  resume: z.boolean().default(false).describe('Continue from the newest checkpoint in output_dir.'),
  recompute: z
    .enum(['auto', 'none', 'all'])
    .default('auto')
    .describe(
      'Activations to recompute in the backward pass; auto recomputes as few as memory_limit allows.',
    ),
  offload: z
    .enum(['none', 'disk'])
    .default('none')
    .describe(
      'disk keeps the frozen base on disk and reads each layer while the previous one runs, once per ' +
        'step for all micro-batches. For a base that does not fit into memory; only with method sft.',
    ),
  memory_limit: z
    .string()
    .regex(/^\d+(?:\.\d+)?\s*[KMGT]?i?B$/, 'a size such as 12GiB')
    .optional()
    .describe('Maximum memory of the run; by default the free memory of the machine or container.'),
  device: z
    .string()
    .regex(/^(auto|cpu|cuda(:\d+)?)$/, 'auto, cpu, cuda or cuda:1')
    .default('auto')
    .describe('cpu, cuda or cuda:1; auto uses a GPU that supports the whole run, else the CPU.'),
  threads: count
    .max(MAX_THREADS)
    .optional()
    .describe('Number of threads of each rank; by default one per core available to the process.'),
  ranks: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe(
      'Number of processes that train together on this machine, each with a copy of the base and its own ' +
        'share of the micro-batches of a step.',
    ),
  rank_transport: z
    .enum(['shared-memory', 'mpi'])
    .default('shared-memory')
    .describe('Communication of ranks; with mpi, mpirun or srun starts them and determines their number.'),
  rank_timeout: count
    .default(60)
    .describe('Seconds without a sign of life after which a rank counts as lost.'),
  expert_parallel: z
    .int()
    .min(1)
    .max(64)
    .default(1)
    .describe(
      'Number of ranks that divide the experts of a model among them: 1, so that each has all, or ranks.',
    ),
})

export type TrainConfig = z.infer<typeof configSchema>
export const CONFIG_KEYS = Object.keys(configSchema.shape)
