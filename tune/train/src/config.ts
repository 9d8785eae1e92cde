/**
 * What a training run can be told: one table, from which types, checks, flags and the reference page derive.
 * Names and defaults are the spec's where it has them.
 */
import { InputError } from '@cairn-tune/weights'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { nearestKey } from './nearest-key.ts'
import { ALIASES, ELSEWHERE, VALUE_ALIASES } from './peer-names.ts'
import { QUANTIZED_RECIPES, RECIPES } from './recipes.ts'

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
  lora_alpha: z.number().positive().default(32).describe('The adapter counts alpha / rank times.'),
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

/** A flag may be typed with dashes: --max-seq-length. */
function canonical(key: string): string {
  const name = key.replaceAll('-', '_')
  return Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name
}

/** Reads a YAML text and flags (`--key value`, `--key=value`, `--flag`); flags win. */
export function readConfig({
  path = 'config',
  yaml,
  flags = [],
}: {
  path?: string
  yaml?: string
  flags?: readonly string[]
}): TrainConfig {
  const settings = new Map<string, { value: unknown; from: string }>()
  for (const [key, value] of Object.entries(yaml === undefined ? {} : parseYamlObject(path, yaml)))
    setOnce(settings, known(key, path), key, { value, from: path })
  for (const [key, value] of parseFlags(flags)) settings.set(key, { value, from: `--${key}` })
  const parsed = configSchema.safeParse(
    Object.fromEntries([...settings].map(([key, { value }]) => [key, ownValue(key, value)])),
  )
  if (!parsed.success) {
    const lines = parsed.error.issues.map(issue => {
      const key = String(issue.path[0] ?? '')
      const where = settings.get(key)?.from
      return where === undefined
        ? `${key} is required`
        : `${where === path ? `${path}: ${key}` : where}: ${issue.message}, got ` +
            `${JSON.stringify(settings.get(key)?.value)}`
    })
    throw new InputError(lines.join('\n'))
  }
  checkTogether(parsed.data)
  return parsed.data
}

/** A file may say a thing under one of its names. */
function setOnce<T>(
  settings: Map<string, T>,
  name: string,
  key: string,
  setting: T & { from: string },
): void {
  if (settings.has(name))
    throw new InputError(
      `${setting.from}: ${JSON.stringify(key)} and another key both say ${name}; give one of them`,
    )
  settings.set(name, setting)
}

/** A value under the name it has here. */
function ownValue(key: string, value: unknown): unknown {
  const names = Object.hasOwn(VALUE_ALIASES, key) ? VALUE_ALIASES[key as keyof TrainConfig] : undefined
  return typeof value === 'string' && names && Object.hasOwn(names, value) ? names[value] : value
}

function known(key: string, where: string): string {
  const name = canonical(key)
  if (CONFIG_KEYS.includes(name)) return name
  if (Object.hasOwn(ELSEWHERE, name))
    throw new InputError(`${where}: there is no ${JSON.stringify(key)} here: ${ELSEWHERE[name]}`)
  const near = nearestKey(name, CONFIG_KEYS)
  throw new InputError(
    `${where}: unknown key ${JSON.stringify(key)}; ` +
      `${near === undefined ? `known: ${CONFIG_KEYS.join(', ')}` : `did you mean ${near}?`}`,
  )
}

function parseYamlObject(path: string, text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseYaml(text)
  } catch (cause) {
    throw new InputError(`${path}: not YAML: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
  if (value === null || value === undefined) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  throw new InputError(`${path}: must have keys and values, got ${JSON.stringify(value)}`)
}

/** Keys whose values are taken as they are typed, so that `--model 7` is the name "7". */
const textKeys = ['model', 'dataset', 'dataset_split', 'output_dir', 'memory_limit']

function parseFlags(flags: readonly string[]): [string, unknown][] {
  const found: [string, unknown][] = []
  for (let i = 0; i < flags.length; i++) {
    const [, typed, equals] = /^--([^=]+)(?:=(.*))?$/s.exec(flags[i] ?? '') ?? []
    if (typed === undefined) throw new InputError(`${JSON.stringify(flags[i])}: expected --key value`)
    const key = known(typed, 'flags')
    const next = flags[i + 1]
    const text = equals ?? (next !== undefined && !next.startsWith('--') ? next : undefined)
    if (equals === undefined && text !== undefined) i++
    found.push([key, text === undefined ? true : parseFlagValue(key, text)])
  }
  return found
}

/** Keys whose flags are lists with commas. */
const LISTS = new Set(['lora_target_modules', 'dataset_columns'])

function parseFlagValue(key: string, text: string): unknown {
  if (textKeys.includes(key)) return text
  if (LISTS.has(key)) return text.split(',').map(name => name.trim())
  const value: unknown = parseYaml(text)
  return typeof value === 'object' ? text : value
}

/** What single keys cannot say. */
function checkTogether(config: TrainConfig): void {
  const { recipe, matmul, lora, adam_beta1: beta1, adam_beta2: beta2 } = config
  const isQuantized = QUANTIZED_RECIPES.includes(recipe)
  if (matmul !== undefined && !isQuantized)
    throw new InputError(
      `matmul: only ${QUANTIZED_RECIPES.join(', ')} choose it; recipe ${recipe} has its own`,
    )
  if (!lora && recipe !== 'bf16')
    throw new InputError(
      `lora: false trains the weights themselves, which recipe ${recipe} keeps frozen; use recipe: bf16`,
    )
  if (config.lr_scheduler_type === 'constant' && (config.warmup_steps > 0 || config.warmup_ratio > 0))
    throw new InputError('lr_scheduler_type: constant has no warm-up; constant_with_warmup has one')
  if (config.warmup_steps > 0 && config.warmup_ratio > 0)
    throw new InputError('warmup_steps and warmup_ratio: give one of them')
  if (config.overwrite && config.resume)
    throw new InputError(
      'overwrite and resume: one puts an earlier run aside, the other goes on with it; give one of them',
    )
  if (beta1 === 1 || beta2 === 1) throw new InputError('adam_beta1 and adam_beta2 must be below 1')
}
