/** adapter_config.json: the PEFT settings that are written, and those that are supported. */
import { closeSync, fstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { InputError, UnsupportedError } from './errors.ts'
import { peftRefusal } from './peft-keys.ts'
import { rankKeys, type Ranks } from './rank-pattern.ts'
import { openRegularFile } from './regular-file.ts'

export type AdapterConfig = Ranks & {
  baseModel: string
  /** Rank of the adapter. The largest one, if ranks differ. */
  lora_rank: number
  lora_dropout: number
  /** Scales by alpha / √rank instead of alpha / rank. */
  use_rslora?: boolean
  /** Whether rows of adapted weights have their own lengths (DoRA). */
  use_dora?: boolean
  /**
   * Parameters of experts whose matrices are fused (fused-experts.ts). Without it, experts have separate
   * matrices.
   */
  target_parameters?: readonly string[]
  /** Modules of the base that are trained whole, such as embed_tokens. */
  modules_to_save?: readonly string[] | undefined
  /** Trained rows of the embeddings. */
  trainable_token_indices?: readonly number[] | Readonly<Record<string, readonly number[]>> | undefined
  /** Whether changed embeddings are the head of a tied base, too. */
  ensure_weight_tying?: boolean | undefined
}

/** The names of an adapter's two files. */
export const [ADAPTER_WEIGHTS, ADAPTER_CONFIG] = ['adapter_model.safetensors', 'adapter_config.json'] as const

/** Text of the file. */
export function adapterConfigText(config: AdapterConfig): string {
  const json = {
    auto_mapping: null,
    base_model_name_or_path: config.baseModel,
    bias: 'none',
    ensure_weight_tying: config.ensure_weight_tying ?? false,
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layers_pattern: null,
    layers_to_transform: null,
    lora_dropout: config.lora_dropout,
    modules_to_save: config.modules_to_save ?? null,
    peft_type: 'LORA',
    ...rankKeys(config),
    revision: null,
    target_modules: config.lora_target_modules,
    target_parameters: config.target_parameters ?? null,
    task_type: 'CAUSAL_LM',
    trainable_token_indices: config.trainable_token_indices ?? null,
    use_dora: config.use_dora ?? false,
    use_rslora: config.use_rslora ?? false,
  }
  return `${JSON.stringify(json, null, 2)}\n`
}

const wrong = (expected: string) => ({ error: `expected ${expected}` })
const flag = z
  .boolean(wrong('true or false'))
  .nullish()
  .transform(value => value ?? false)
const names = z.array(z.string(), wrong('a list of names')).nullish()
const positive = z.number(wrong('a positive number')).positive(wrong('a positive number'))
const pattern = z.record(z.string(), positive, wrong('an object of numbers')).nullish()
const tokenIds = z.array(z.int().nonnegative(), wrong('a list of token ids'))

/** The keys that peft-keys.ts lists as read. */
const configSchema = z.looseObject({
  base_model_name_or_path: z.string().nullish(),
  r: z.int(wrong('a positive whole number')).positive(wrong('a positive whole number')),
  lora_alpha: positive,
  lora_dropout: z.number(wrong('a number')).default(0),
  target_modules: z
    .union([z.array(z.string()), z.string()], wrong('a list of names or an expression'))
    .nullish(),
  target_parameters: names,
  use_rslora: flag,
  use_dora: flag,
  modules_to_save: names,
  trainable_token_indices: z
    .union([tokenIds, z.record(z.string(), tokenIds)], wrong('a list of token ids, or one by module'))
    .nullish(),
  rank_pattern: pattern,
  alpha_pattern: pattern,
})

/** PEFT writes a kilobyte. Patterns for every projection of a large model take some hundred. */
const MAX_CONFIG_BYTES = 4 * 2 ** 20

function readText(path: string): string {
  let file: number
  try {
    file = openRegularFile(path)
  } catch (error) {
    throw new InputError(
      `${path}: cannot read the file; an adapter is a directory with ${ADAPTER_CONFIG} and ` +
        `${ADAPTER_WEIGHTS}`,
      { cause: error },
    )
  }
  try {
    const { size } = fstatSync(file)
    if (size > MAX_CONFIG_BYTES)
      throw new InputError(`${path}: has ${size} bytes; the maximum is ${MAX_CONFIG_BYTES}`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

export function readAdapterConfig(path: string): z.infer<typeof configSchema> {
  const text = readText(path)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new InputError(`${path}: not JSON`, { cause: error })
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new InputError(`${path}: must be a JSON object`)
  const refusal = peftRefusal(json as Record<string, unknown>)
  if (refusal !== undefined) throw new UnsupportedError(`${path}: ${refusal}`)
  const parsed = configSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const { path: keys = [], message = '' } = parsed.error.issues[0] ?? {}
  const value: unknown = keys.reduce<unknown>(
    (found, key) => (found as Record<PropertyKey, unknown>)[key],
    json,
  )
  throw new UnsupportedError(
    `${path}: ${keys.join('.')} is ${JSON.stringify(value) ?? 'missing'}, ${message}`,
  )
}

/** The base model named by an adapter. Empty if it names none. */
export const adapterBase = (directory: string): string =>
  readAdapterConfig(join(directory, ADAPTER_CONFIG)).base_model_name_or_path ?? ''
