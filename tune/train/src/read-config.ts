/** Parses a configuration from a YAML text and flags: names, values, and checks across keys. */
import { InputError } from '@cairn-tune/weights'
import { parse as parseYaml } from 'yaml'
import { CONFIG_KEYS, configSchema, type TrainConfig } from './config.ts'
import { PREFERENCE_LEARNING_RATE, hasReference, isPreference, type Method } from './methods.ts'
import { nearestKey } from './nearest-key.ts'
import { ALIASES, UNSUPPORTED_KEYS, VALUE_ALIASES } from './peer-names.ts'
import { QUANTIZED_RECIPES } from './recipes.ts'
import { checkAdapterKeys } from './check-adapter.ts'
import { checkStreaming } from './data-parts.ts'

/** A flag may be typed with dashes: --max-seq-length. */
function canonical(key: string): string {
  const name = key.replaceAll('-', '_')
  return Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name
}

/** Parses a YAML text and flags (`--key value`, `--key=value`, `--flag`). Flags override the text. */
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
  const hasData = settings.has('dataset') || settings.has('dataset_mix')
  if (!parsed.success || !hasData) {
    const lines = (parsed.error?.issues ?? []).map(issue => {
      const key = String(issue.path[0] ?? '')
      const where = settings.get(key)?.from
      return where === undefined
        ? `${key} is required`
        : `${where === path ? `${path}: ${key}` : where}: ${issue.message}, got ` +
            `${JSON.stringify(settings.get(key)?.value)}`
    })
    throw new InputError([...lines, ...(hasData ? [] : ['dataset is required'])].join('\n'))
  }
  checkTogether(parsed.data)
  checkMethod(parsed.data, new Set(settings.keys()))
  if (!isPreference(parsed.data.method) || settings.has('learning_rate')) return parsed.data
  return { ...parsed.data, learning_rate: PREFERENCE_LEARNING_RATE }
}

/** Methods that use a key. Others reject it, because it would have no effect. */
const OF_METHODS: Readonly<Partial<Record<keyof TrainConfig, readonly Method[]>>> = {
  beta: ['dpo', 'kto', 'orpo'],
  loss_type: ['dpo'],
  label_smoothing: ['dpo'],
  desirable_weight: ['kto'],
  undesirable_weight: ['kto'],
  reference_adapter: ['dpo', 'kto'],
  train_on: ['sft'],
  router_aux_loss_coef: ['sft'],
  dataset_samples: ['sft'],
  streaming: ['sft'],
  offload: ['sft'],
}

function checkMethod(config: TrainConfig, given: ReadonlySet<string>): void {
  const { method, lora, loss_type: lossType, label_smoothing: smoothing } = config
  for (const [key, methods] of Object.entries(OF_METHODS))
    if (given.has(key) && !methods.includes(method))
      throw new InputError(`${key}: not available with method ${method}, only with ${methods.join(', ')}`)
  if (!isPreference(method)) return
  if (!lora)
    throw new InputError(
      `lora: false is not available with method ${method}, which trains an adapter` +
        `${hasReference(method) ? '; its reference is the base without the adapter' : ''}`,
    )
  if (smoothing > 0 && lossType !== 'sigmoid' && lossType !== 'robust')
    throw new InputError(
      `label_smoothing: not available with loss_type ${lossType}, only with sigmoid and robust`,
    )
  if (method === 'kto' && config.per_device_train_batch_size < 2)
    throw new InputError(
      'per_device_train_batch_size: kto needs at least 2, because it pairs each prompt with the ' +
        'answer to another prompt of the micro-batch',
    )
}

/** Sets a key once: a file may not use two of its names. */
function setOnce<T>(
  settings: Map<string, T>,
  name: string,
  key: string,
  setting: T & { from: string },
): void {
  if (settings.has(name))
    throw new InputError(
      `${setting.from}: ${JSON.stringify(key)} and another key both set ${name}; remove one of them`,
    )
  settings.set(name, setting)
}

/** Our name of a value. */
function ownValue(key: string, value: unknown): unknown {
  const names = Object.hasOwn(VALUE_ALIASES, key) ? VALUE_ALIASES[key as keyof TrainConfig] : undefined
  return typeof value === 'string' && names && Object.hasOwn(names, value) ? names[value] : value
}

function known(key: string, where: string): string {
  const name = canonical(key)
  if (CONFIG_KEYS.includes(name)) return name
  if (Object.hasOwn(UNSUPPORTED_KEYS, name))
    throw new InputError(`${where}: ${JSON.stringify(key)} is not supported: ${UNSUPPORTED_KEYS[name]}`)
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
  } catch (error) {
    throw new InputError(`${path}: not YAML: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  if (value === null || value === undefined) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  throw new InputError(`${path}: must contain keys and values, got ${JSON.stringify(value)}`)
}

/** Keys whose values are taken as typed, so that `--model 7` is the name "7". */
const textKeys = [
  'model',
  'dataset',
  'dataset_split',
  'dataset_subset',
  'eval_dataset_split',
  'output_dir',
  'memory_limit',
  'eval_dataset',
  'init_adapter',
  'reference_adapter',
  'chat_template',
]

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

/** Keys whose flags are comma-separated lists. */
const LISTS = new Set(['lora_target_modules', 'dataset_columns', 'modules_to_save', 'added_tokens'])
/** Keys whose flags are comma-separated numbers. */
const NUMBERS = new Set(['trainable_token_indices'])

/** Keys whose flags are names with numbers: q_proj=8,v_proj=4. */
const PATTERNS = new Set(['rank_pattern', 'alpha_pattern'])

const parsePattern = (text: string): unknown =>
  Object.fromEntries(
    text.split(',').map(pair => {
      const [name = '', value = ''] = pair.split('=').map(part => part.trim())
      return [name, value === '' ? NaN : Number(value)]
    }),
  )

function parseFlagValue(key: string, text: string): unknown {
  if (textKeys.includes(key)) return text
  if (LISTS.has(key)) return text.split(',').map(name => name.trim())
  if (NUMBERS.has(key)) return text.split(',').map(Number)
  if (PATTERNS.has(key)) return parsePattern(text)
  const value: unknown = parseYaml(text)
  return typeof value === 'object' && key !== 'dataset_mix' ? text : value
}

function checkData(config: TrainConfig): void {
  const { dataset, dataset_mix: mix, dataset_samples: samples, dataset_subset: subset } = config
  if (dataset !== undefined && mix)
    throw new InputError('dataset and dataset_mix exclude each other; set one of them')
  if (mix && samples !== undefined)
    throw new InputError('dataset_samples: not available with dataset_mix; give its entries samples')
  if (mix && subset !== undefined)
    throw new InputError('dataset_subset: not available with dataset_mix; give its entries a subset')
  const weights = mix?.filter(({ weight }) => weight !== undefined).length ?? 0
  if (mix && weights > 0 && weights < mix.length)
    throw new InputError('dataset_mix: give every data set a weight, or none')
  if (config.eval_dataset_split !== undefined && config.eval_dataset === undefined)
    throw new InputError('eval_dataset_split: needs eval_dataset')
  checkStreaming(config)
}

/** What ranks that divide the experts of a model do not support. */
function checkExpertParallel(config: TrainConfig): void {
  const { expert_parallel: parallel, ranks, rank_transport: transport } = config
  if (parallel === 1) return
  const wants = (key: keyof TrainConfig, value: string) =>
    new InputError(`expert_parallel: not available with ${key}: ${String(config[key])}; use ${value}`)
  if (transport !== 'mpi' && parallel !== ranks)
    throw new InputError(
      `expert_parallel ${parallel}: the experts are divided among all ranks; set ranks: ${parallel}`,
    )
  if (config.recipe === 'fp8' || config.recipe === 'fp4')
    throw wants('recipe', 'bf16, qfp8, qfp4 or qbnb, which scale no activation by those of all experts')
  if (config.matmul !== undefined && config.matmul !== 'bf16') throw wants('matmul', 'bf16')
  if (isPreference(config.method)) throw wants('method', 'sft')
  if (!config.lora) throw wants('lora', 'an adapter')
  if (config.optimizer !== 'adamw') throw wants('optimizer', 'adamw')
  if (config.offload !== 'none') throw wants('offload', 'none')
  if (config.device.startsWith('cuda')) throw wants('device', 'cpu')
}

/** Checks that involve several keys. */
function checkTogether(config: TrainConfig): void {
  checkData(config)
  const { recipe, matmul, lora, adam_beta1: beta1, adam_beta2: beta2 } = config
  const isQuantized = QUANTIZED_RECIPES.includes(recipe)
  if (matmul !== undefined && !isQuantized)
    throw new InputError(
      `matmul: only available with ${QUANTIZED_RECIPES.join(', ')}; recipe ${recipe} has a fixed format`,
    )
  if (!lora && recipe !== 'bf16')
    throw new InputError(`lora: false trains the base, which recipe ${recipe} keeps frozen; use recipe: bf16`)
  if (config.offload === 'disk' && !lora)
    throw new InputError(
      'offload: disk keeps the frozen base on disk, but lora: false trains it; use one of them',
    )
  if (config.offload === 'disk' && config.recompute === 'none')
    throw new InputError('offload: disk always recomputes activations; remove recompute')
  if (config.lr_scheduler_type === 'constant' && (config.warmup_steps > 0 || config.warmup_ratio > 0))
    throw new InputError('lr_scheduler_type: constant has no warm-up; use constant_with_warmup')
  if (config.warmup_steps > 0 && config.warmup_ratio > 0)
    throw new InputError('warmup_steps and warmup_ratio exclude each other; set one of them')
  const evaluates = config.eval_dataset !== undefined || config.eval_split !== undefined
  if (config.eval_dataset !== undefined && config.eval_split !== undefined)
    throw new InputError('eval_dataset and eval_split exclude each other; set one of them')
  const needing = [
    config.eval_steps > 0 ? ['eval_steps'] : [],
    config.early_stopping_patience > 0 ? ['early_stopping_patience'] : [],
    config.load_best_model_at_end ? ['load_best_model_at_end'] : [],
  ].flat()
  if (!evaluates && needing[0] !== undefined)
    throw new InputError(`${needing[0]}: needs evaluation data; set eval_dataset or eval_split`)
  if (config.early_stopping_patience > 0 && config.eval_steps === 0)
    throw new InputError(
      'early_stopping_patience: needs eval_steps; without it the only evaluation is at the end',
    )
  checkAdapterKeys(config)
  checkExpertParallel(config)
  if (config.overwrite && config.resume)
    throw new InputError(
      'overwrite and resume exclude each other: one replaces an earlier run, the other continues it',
    )
  if (beta1 === 1 || beta2 === 1) throw new InputError('adam_beta1 and adam_beta2 must be below 1')
}
