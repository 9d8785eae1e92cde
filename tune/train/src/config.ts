/**
 * What a training run can be told: one table, from which types, checks, flags and the reference page derive.
 * Names and defaults are the spec's where it has them.
 */
import { z } from 'zod'
import { RECIPES } from './recipes.ts'

const count = z.int().positive()
/** Of an engine. */
const MOST_THREADS = 1024
const fraction = z.number().min(0).max(1)

export const configSchema = z.strictObject({
  model: z.string().min(1).describe('Directory of a model, or its name on the hub.'),
  dataset: z.string().min(1).describe('File or directory of data, or its name on the hub.'),
  dataset_split: z.string().min(1).default('train').describe('Which files of a directory are read.'),
  dataset_samples: count
    .optional()
    .describe(
      'As many rows as this: the first ones, repeated where there are fewer. All rows where it is left out.',
    ),
  dataset_columns: z
    .array(z.string().regex(/^[^=]+=[^=]+$/, 'a pair such as question=problem'))
    .default([])
    .describe('Names that columns have in the data, as question=problem,answer=solution.'),
  eval_dataset: z
    .string()
    .min(1)
    .optional()
    .describe('Data that is evaluated and not trained on: a file, directory or name, as dataset.'),
  eval_split: z
    .number()
    .positive()
    .optional()
    .describe(
      'Documents of dataset that are evaluated and not trained on: their number, or below 1 their share.',
    ),
  bad_rows: z
    .enum(['skip', 'error'])
    .default('skip')
    .describe('Rows that cannot be read or shown by the template: left out and counted, or an error.'),
  output_dir: z
    .string()
    .min(1)
    .default('./output')
    .describe('Where the adapter, checkpoints, metrics and charts go.'),

  recipe: z.enum(RECIPES).default('bf16').describe('How base weights are stored and multiplied.'),
  matmul: z
    .enum(['bf16', 'fp8-hybrid'])
    .optional()
    .describe('Arithmetic of qfp8, qfp4 and qbnb; bf16 where it is left out.'),
  compute_dtype: z
    .enum(['bf16', 'f32'])
    .default('bf16')
    .describe('Format of activations and of what else multiplies; f32 is for checking numbers.'),
  skip_quant_first_layers: z.int().nonnegative().default(0).describe('Layers at the start that stay bf16.'),
  skip_quant_last_layers: z.int().nonnegative().default(0).describe('Layers at the end that stay bf16.'),

  lora: z.boolean().default(true).describe('Train an adapter; false trains every weight.'),
  lora_rank: count.max(64).default(16).describe('Rank of the adapter.'),
  lora_expert_rank: count
    .max(64)
    .optional()
    .describe(
      'Rank of the adapters of feed-forward projections in a model with experts; lora_rank unless given.',
    ),
  lora_alpha: z.number().positive().default(32).describe('The adapter counts alpha / rank times.'),
  use_rslora: z.boolean().default(false).describe('The adapter counts alpha / √rank times.'),
  init_adapter: z
    .string()
    .min(1)
    .optional()
    .describe('Adapter that training starts from, in place of a new one.'),
  lora_dropout: z.literal(0, 'only 0 is supported').default(0).describe('Dropout before the adapter.'),
  lora_target_modules: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Linears that get an adapter, as q_proj,v_proj; all projections of the layers where it is left out.',
    ),

  max_seq_length: count.default(2048).describe('Slots of a row.'),
  packing: z.boolean().default(true).describe('Several documents a row.'),
  too_long: z
    .enum(['truncate', 'error'])
    .default('truncate')
    .describe('What happens to a document longer than a row.'),
  train_on: z
    .enum(['assistant', 'all'])
    .default('assistant')
    .describe('Tokens that the loss counts: those the assistant wrote (the answer, the completion), or all.'),

  per_device_train_batch_size: count.default(2).describe('Rows of a micro-batch.'),
  gradient_accumulation_steps: count.default(4).describe('Micro-batches of a step.'),
  num_train_epochs: z.number().positive().default(1).describe('Times that all rows are seen.'),
  max_steps: count.optional().describe('Steps in place of epochs.'),

  learning_rate: z.number().positive().default(2e-4).describe('The highest rate of the schedule.'),
  lr_scheduler_type: z
    .enum(['linear', 'cosine', 'constant', 'constant_with_warmup'])
    .default('linear')
    .describe('How the rate falls after the warm-up, which constant has none of.'),
  warmup_ratio: fraction.default(0).describe('The same as a share of all steps, rounded up.'),
  warmup_steps: z.int().nonnegative().default(0).describe('Steps over which the rate rises from 0.'),
  optimizer: z.enum(['adamw', 'adamw_8bit']).default('adamw').describe('States in fp32, or in 8 bits.'),
  weight_decay: z.number().nonnegative().default(0).describe('Decoupled weight decay.'),
  adam_beta1: fraction.default(0.9).describe('Decay of the first moment.'),
  adam_beta2: fraction.default(0.999).describe('Decay of the second moment.'),
  adam_epsilon: z.number().positive().default(1e-8).describe('Added to the denominator.'),
  max_grad_norm: z.number().nonnegative().default(1).describe('Global clip; 0 is none.'),

  seed: z.int().nonnegative().default(42).describe('Order of data, initial adapter, stochastic rounding.'),
  save_steps: z.int().nonnegative().default(0).describe('Steps between checkpoints; 0 is one at the end.'),
  eval_steps: z
    .int()
    .nonnegative()
    .default(0)
    .describe('Steps between evaluations; 0 is one at the end. The best so far is kept in output_dir/best.'),
  early_stopping_patience: z
    .int()
    .nonnegative()
    .default(0)
    .describe('Evaluations without a better loss after which the run ends; 0 is never.'),
  load_best_model_at_end: z
    .boolean()
    .default(false)
    .describe('The run leaves what was best in evaluation, not what was last.'),
  report_to: z
    .enum(['none', 'tensorboard'])
    .default('none')
    .describe('Event files of TensorBoard in output_dir/runs, beside metrics.jsonl.'),
  save_total_limit: count.default(2).describe('Checkpoints that are kept.'),
  overwrite: z
    .boolean()
    .default(false)
    .describe('Put this run in the place of an earlier one in output_dir, which is an error otherwise.'),
  resume: z.boolean().default(false).describe('Go on from the last checkpoint in output_dir.'),
  recompute: z
    .enum(['auto', 'none', 'all'])
    .default('auto')
    .describe(
      'Which activations are computed again in the backward pass; auto is as few as memory_limit needs.',
    ),
  memory_limit: z
    .string()
    .regex(/^\d+(?:\.\d+)?\s*[KMGT]?i?B$/, 'a size such as 12GiB')
    .optional()
    .describe('Memory the run may take; that of the machine where it is left out.'),
  threads: count
    .max(MOST_THREADS)
    .optional()
    .describe('Threads; the cores the process may use where it is left out.'),
})

export type TrainConfig = z.infer<typeof configSchema>
export const CONFIG_KEYS = Object.keys(configSchema.shape)
