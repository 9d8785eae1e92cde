/** Adapters in PEFT's layout: adapter_model.safetensors and adapter_config.json. */
import { closeSync, fstatSync, openSync, read, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { z } from 'zod'
import { writeTextAtomically } from './atomic-file.ts'
import type { ByteSource } from './byte-source.ts'
import { InputError, UnsupportedError } from './errors.ts'
import { isMissing, makeDirectories } from './fs-errors.ts'
import { FLOAT_DTYPES, decodeFloats, encodeFloats, findNotFinite, type FloatDtype } from './float-values.ts'
import { rankKeys, ranksOf } from './rank-pattern.ts'
import { writeSafetensors } from './safetensors-writer.ts'
import { checkTensor, openSafetensors } from './safetensors.ts'

/**
 * A matrix of an adapter under the name it has in a program: `model.layers.0.self_attn.q_proj.lora_A.weight`.
 * A is (rank, in), B is (out, rank).
 */
export type AdapterTensor = { name: string; shape: readonly [number, number]; values: Float32Array }
export type AdapterConfig = {
  baseModel: string
  /** Of the whole adapter where read: the largest. */
  lora_rank: number
  /** Of feed-forward projections, where it is another; alpha / rank is the same. */
  lora_expert_rank?: number | undefined
  lora_alpha: number
  lora_dropout: number
  lora_target_modules: readonly string[]
  /** Whether it counts alpha / √rank times in place of alpha / rank. */
  use_rslora?: boolean
}
export type Adapter = AdapterConfig & {
  /** What B·A·x is multiplied by. */ scale: number
  tensors: AdapterTensor[]
}
/** A matrix as its file has it. */
export type StoredTensor = Omit<AdapterTensor, 'values'> & { dtype: FloatDtype; bytes: Uint8Array }
export type StoredAdapter = Omit<Adapter, 'tensors'> & { tensors: StoredTensor[] }

const PREFIX = 'base_model.model.'
const WEIGHTS = 'adapter_model.safetensors'
const CONFIG = 'adapter_config.json'

/** Writes both files; each appears whole or not at all, the one that names the other last. */
export async function writeAdapter(
  directory: string,
  config: AdapterConfig,
  tensors: readonly AdapterTensor[],
  dtype: 'F32' | 'BF16' = 'F32',
): Promise<void> {
  await makeDirectories(directory)
  const stored = tensors.map(({ name, shape, values }) => ({
    name: PREFIX + name,
    dtype,
    shape,
    bytes: () => encodeFloats(dtype, values),
  }))
  await writeSafetensors(join(directory, WEIGHTS), stored)
  const json = {
    auto_mapping: null,
    base_model_name_or_path: config.baseModel,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layers_pattern: null,
    layers_to_transform: null,
    lora_dropout: config.lora_dropout,
    modules_to_save: null,
    peft_type: 'LORA',
    ...rankKeys(config.lora_rank, config.lora_expert_rank, config.lora_alpha, config.lora_target_modules),
    revision: null,
    target_modules: config.lora_target_modules,
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: config.use_rslora ?? false,
  }
  await writeTextAtomically(join(directory, CONFIG), `${JSON.stringify(json, null, 2)}\n`)
}

const pattern = z.record(z.string(), z.number().positive()).nullish()
const off = z.literal([false, null]).optional()

/**
 * What of PEFT's configuration is understood; a setting that would change the numbers and is not, is refused.
 */
const configSchema = z.looseObject({
  peft_type: z.literal('LORA'),
  base_model_name_or_path: z.string().nullish(),
  r: z.int().positive(),
  lora_alpha: z.number().positive(),
  lora_dropout: z.number().default(0),
  target_modules: z.union([z.array(z.string()), z.string()]).nullish(),
  bias: z.literal('none').default('none'),
  use_rslora: z.boolean().default(false),
  use_dora: off,
  fan_in_fan_out: off,
  lora_bias: off,
  modules_to_save: z.union([z.array(z.string()).max(0), z.null()]).optional(),
  rank_pattern: pattern,
  alpha_pattern: pattern,
  layer_replication: z.null().optional(),
})

const readInto = promisify(read)

/** Bytes that are read in less time than an asynchronous read waits for its turns. */
const READ_AT_ONCE = 4 * 2 ** 20

/**
 * An adapter is small: one read of all of it. Each asynchronous call waits twice for a turn on a machine
 * whose every core computes, so what takes microseconds is done at once.
 */
async function openWhole(path: string): Promise<ByteSource> {
  const file = openWeights(path)
  try {
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(fstatSync(file).size).buffer)
    for (let filled = 0; filled < bytes.byteLength;) {
      const bytesRead =
        bytes.byteLength <= READ_AT_ONCE
          ? readSync(file, bytes, filled, bytes.byteLength - filled, filled)
          : (await readInto(file, bytes, filled, bytes.byteLength - filled, filled)).bytesRead
      if (bytesRead === 0)
        throw new InputError(
          `${path}: ended at byte ${filled} of ${bytes.byteLength}; it shrank since it was opened`,
        )
      filled += bytesRead
    }
    return {
      path,
      byteLength: bytes.byteLength,
      read: async (offset, length) => bytes.subarray(offset, offset + length),
      close: async () => undefined,
    }
  } finally {
    closeSync(file)
  }
}

function openWeights(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if (isMissing(cause)) throw new InputError(`${path}: no such file`, { cause })
    throw cause
  }
}

/** Numbers that are decoded or checked before others get a turn: about a millisecond's work. */
const NUMBERS_AT_ONCE = 500_000

/** Reads an adapter of ours or of PEFT; every A must have its B, of the rank that the configuration names. */
export async function readAdapter(directory: string): Promise<Adapter> {
  const { tensors: stored, ...rest } = await readStoredAdapter(directory)
  const tensors: AdapterTensor[] = []
  let decoded = 0
  for (const { name, shape, dtype, bytes } of stored) {
    tensors.push({ name, shape, values: decodeFloats(dtype, bytes) })
    decoded += shape[0] * shape[1]
    if (decoded < NUMBERS_AT_ONCE) continue
    decoded = 0
    await setImmediate()
  }
  return { ...rest, tensors }
}

/** The same with every matrix as it lies in the file, for those who can use it so. */
export async function readStoredAdapter(directory: string): Promise<StoredAdapter> {
  const config = readAdapterConfig(join(directory, CONFIG))
  const path = join(directory, WEIGHTS)
  const file = await openSafetensors(path, openWhole)
  const rankOf = ranksOf(join(directory, CONFIG), config)
  const tensors: StoredTensor[] = []
  let checked = 0
  for (const [stored, entry] of file.tensors) {
    const match = /^base_model\.model\.(.+\.lora_([AB])\.weight)$/.exec(stored)
    if (!match?.[1])
      throw new UnsupportedError(
        `${path}: ${JSON.stringify(stored)} is not a matrix of a LoRA adapter on linears`,
      )
    checkTensor(path, entry, FLOAT_DTYPES)
    const [rows = 0, columns = 0] = entry.shape
    const rank = match[2] === 'A' ? rows : columns
    const wanted = rankOf(match[1].replace(/\.lora_[AB]\.weight$/, ''))
    if (entry.shape.length !== 2 || rank !== wanted)
      throw new InputError(
        `${path}: ${JSON.stringify(stored)} is (${entry.shape.join(', ')}), its rank should be ${wanted}`,
      )
    const other = stored.replace(/lora_[AB]\.weight$/, `lora_${match[2] === 'A' ? 'B' : 'A'}.weight`)
    if (!file.tensors.has(other))
      throw new InputError(`${path}: ${JSON.stringify(stored)} has no ${JSON.stringify(other)}`)
    const dtype = entry.dtype as FloatDtype
    const bytes = await file.read(stored)
    if (findNotFinite(dtype, bytes) !== undefined)
      throw new InputError(
        `${path}: ${JSON.stringify(stored)} holds a number that is not finite; ` +
          'the run that wrote it diverged',
      )
    tensors.push({ name: match[1], shape: [rows, columns], dtype, bytes })
    checked += rows * columns
    if (checked < NUMBERS_AT_ONCE) continue
    checked = 0
    await setImmediate()
  }
  if (tensors.length === 0) throw new InputError(`${path}: has no tensors`)
  const modules = new Set(tensors.flatMap(({ name }) => name.split('.').at(-3) ?? []))
  return {
    baseModel: config.base_model_name_or_path ?? '',
    lora_rank: Math.max(...tensors.map(({ name, shape }) => shape[name.endsWith('lora_A.weight') ? 0 : 1])),
    lora_alpha: config.lora_alpha,
    lora_dropout: config.lora_dropout,
    lora_target_modules: [...modules],
    use_rslora: config.use_rslora,
    scale: config.lora_alpha / (config.use_rslora ? Math.sqrt(config.r) : config.r),
    tensors,
  }
}

function readAdapterConfig(path: string): z.infer<typeof configSchema> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new InputError(`${path}: cannot be read; an adapter is a directory with ${CONFIG} and ${WEIGHTS}`, {
      cause,
    })
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new InputError(`${path}: not JSON`, { cause })
  }
  const parsed = configSchema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new UnsupportedError(`${path}: ${z.prettifyError(parsed.error)}`)
}
