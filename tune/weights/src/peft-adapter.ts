/** Adapters in PEFT's layout: adapter_model.safetensors and adapter_config.json. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { writeTextAtomically } from './atomic-file.ts'
import { openFileBytes, type ByteSource } from './byte-source.ts'
import { InputError, UnsupportedError } from './errors.ts'
import { FLOAT_DTYPES, decodeFloats, encodeFloats, type FloatDtype } from './float-values.ts'
import { writeSafetensors } from './safetensors-writer.ts'
import { checkTensor, openSafetensors } from './safetensors.ts'

/** A matrix of an adapter under the name it has in a program: `model.layers.0.self_attn.q_proj.lora_A.weight`. A is (rank, in), B is (out, rank). */
export type AdapterTensor = { name: string; shape: readonly [number, number]; values: Float32Array }
export type AdapterConfig = { baseModel: string; lora_rank: number; lora_alpha: number; lora_dropout: number; lora_target_modules: readonly string[] }
export type Adapter = AdapterConfig & { /** What B·A·x is multiplied by. */ scale: number; tensors: AdapterTensor[] }

const PREFIX = 'base_model.model.'
const WEIGHTS = 'adapter_model.safetensors'
const CONFIG = 'adapter_config.json'

/** Writes both files; each appears whole or not at all, the one that names the other last. */
export async function writeAdapter(directory: string, config: AdapterConfig, tensors: readonly AdapterTensor[], dtype: 'F32' | 'BF16' = 'F32'): Promise<void> {
  await mkdir(directory, { recursive: true })
  const stored = tensors.map(({ name, shape, values }) => ({ name: PREFIX + name, dtype, shape, bytes: () => encodeFloats(dtype, values) }))
  await writeSafetensors(join(directory, WEIGHTS), stored)
  const json = {
    alpha_pattern: {},
    auto_mapping: null,
    base_model_name_or_path: config.baseModel,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layers_pattern: null,
    layers_to_transform: null,
    lora_alpha: config.lora_alpha,
    lora_dropout: config.lora_dropout,
    modules_to_save: null,
    peft_type: 'LORA',
    r: config.lora_rank,
    rank_pattern: {},
    revision: null,
    target_modules: config.lora_target_modules,
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: false,
  }
  await writeTextAtomically(join(directory, CONFIG), `${JSON.stringify(json, null, 2)}\n`)
}

const empty = z.union([z.record(z.string(), z.unknown()).refine(value => Object.keys(value).length === 0), z.null()]).optional()
const off = z.literal([false, null]).optional()

/** What of PEFT's configuration is understood; a setting that would change the numbers and is not, is refused. */
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
  rank_pattern: empty,
  alpha_pattern: empty,
  layer_replication: z.null().optional(),
})

/** An adapter is small: one read, where a read a matrix would wait its turn behind everything else the process does. */
async function openWhole(path: string): Promise<ByteSource> {
  const file = await openFileBytes(path)
  try {
    const bytes = await file.read(0, file.byteLength)
    return { path, byteLength: bytes.byteLength, read: async (offset, length) => bytes.subarray(offset, offset + length), close: async () => undefined }
  } finally {
    await file.close()
  }
}

/** Numbers that are decoded before others get a turn: about a millisecond's work. */
const NUMBERS_AT_ONCE = 500_000

/** Reads an adapter of ours or of PEFT; every A must have its B, of the rank that the configuration names. */
export async function readAdapter(directory: string): Promise<Adapter> {
  const config = await readAdapterConfig(join(directory, CONFIG))
  const path = join(directory, WEIGHTS)
  const file = await openSafetensors(path, openWhole)
  try {
    const tensors: AdapterTensor[] = []
    let decoded = 0
    for (const [stored, entry] of file.tensors) {
      const match = /^base_model\.model\.(.+\.lora_([AB])\.weight)$/.exec(stored)
      if (!match?.[1]) throw new UnsupportedError(`${path}: ${JSON.stringify(stored)} is not a matrix of a LoRA adapter on linears`)
      checkTensor(path, entry, FLOAT_DTYPES)
      const [rows = 0, columns = 0] = entry.shape
      const rank = match[2] === 'A' ? rows : columns
      if (entry.shape.length !== 2 || rank !== config.r) throw new InputError(`${path}: ${JSON.stringify(stored)} is (${entry.shape.join(', ')}), its rank should be ${config.r}`)
      const other = stored.replace(/lora_[AB]\.weight$/, `lora_${match[2] === 'A' ? 'B' : 'A'}.weight`)
      if (!file.tensors.has(other)) throw new InputError(`${path}: ${JSON.stringify(stored)} has no ${JSON.stringify(other)}`)
      tensors.push({ name: match[1], shape: [rows, columns], values: decodeFloats(entry.dtype as FloatDtype, await file.read(stored)) })
      decoded += rows * columns
      if (decoded < NUMBERS_AT_ONCE) continue
      decoded = 0
      await setImmediate()
    }
    if (tensors.length === 0) throw new InputError(`${path}: has no tensors`)
    const modules = new Set(tensors.flatMap(({ name }) => name.split('.').at(-3) ?? []))
    return {
      baseModel: config.base_model_name_or_path ?? '',
      lora_rank: config.r,
      lora_alpha: config.lora_alpha,
      lora_dropout: config.lora_dropout,
      lora_target_modules: [...modules],
      scale: config.lora_alpha / (config.use_rslora ? Math.sqrt(config.r) : config.r),
      tensors,
    }
  } finally {
    await file.close()
  }
}

async function readAdapterConfig(path: string): Promise<z.infer<typeof configSchema>> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new InputError(`${path}: cannot be read; an adapter is a directory with ${CONFIG} and ${WEIGHTS}`, { cause })
  })
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
