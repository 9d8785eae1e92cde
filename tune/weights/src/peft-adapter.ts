/** Adapters in PEFT's layout: adapter_model.safetensors and adapter_config.json. */
import { closeSync, fstatSync, read, readSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createChanges, type WeightChange } from './adapter-changes.ts'
import type { AdapterTensor, AdapterVector, StoredTensor } from './adapter-tensor.ts'
import { writeTextAtomically } from './atomic-file.ts'
import type { ByteSource } from './byte-source.ts'
import { InputError, UnsupportedError } from './errors.ts'
import { makeDirectories } from './fs-errors.ts'
import { FLOAT_DTYPES, decodeFloats, encodeFloats, findNotFinite, type FloatDtype } from './float-values.ts'
import { expertNamesOf } from './experts.ts'
import { fusedParameter, parameterOf, partFused } from './fused-experts.ts'
import {
  ADAPTER_CONFIG,
  ADAPTER_WEIGHTS,
  adapterConfigText,
  readAdapterConfig,
  type AdapterConfig,
} from './peft-config.ts'
import { ranksOf } from './rank-pattern.ts'
import { openRegularFile } from './regular-file.ts'
import { writeSafetensors } from './safetensors-writer.ts'
import { checkTensor, openSafetensors } from './safetensors.ts'

export type Adapter = AdapterConfig & {
  /** Factor of B·A·x of a linear. */
  scaleOf: (linear: string) => number
  tensors: AdapterTensor[]
  /** One per pair of matrices with DoRA, otherwise empty. */
  magnitudes: AdapterVector[]
  /** Weights of the base that the adapter replaces: embeddings, head and norms. */
  changes: readonly WeightChange[]
}
export type StoredAdapter = Omit<Adapter, 'tensors'> & { tensors: StoredTensor[] }

const PREFIX = 'base_model.model.'

/** Writes both files. Each appears whole or not at all, the configuration last. */
export async function writeAdapter(
  directory: string,
  config: AdapterConfig,
  tensors: readonly (AdapterTensor | AdapterVector)[],
  dtype: 'F32' | 'BF16' = 'F32',
): Promise<void> {
  await makeDirectories(directory)
  const stored = tensors.map(({ name, shape, values }) => ({
    name: PREFIX + name,
    dtype,
    shape,
    bytes: () => encodeFloats(dtype, values),
  }))
  await writeSafetensors(join(directory, ADAPTER_WEIGHTS), stored)
  await writeTextAtomically(join(directory, ADAPTER_CONFIG), adapterConfigText(config))
}

const readInto = promisify(read)

/** Up to this size a synchronous read takes less time than the waits of an asynchronous one. */
const READ_AT_ONCE = 4 * 2 ** 20

/**
 * Reads an adapter at once, because it is small. On a machine whose cores all compute, each asynchronous call
 * waits twice for a turn, so reads of microseconds are synchronous.
 */
async function openWhole(path: string, maxBytes: number): Promise<ByteSource> {
  const file = openWeights(path)
  try {
    const { size } = fstatSync(file)
    if (size > maxBytes)
      throw new InputError(`${path}: has ${size} bytes; adapters of this base model have at most ${maxBytes}`)
    const bytes = new Uint8Array(Buffer.allocUnsafeSlow(size).buffer)
    for (let filled = 0; filled < bytes.byteLength;) {
      const bytesRead =
        bytes.byteLength <= READ_AT_ONCE
          ? readSync(file, bytes, filled, bytes.byteLength - filled, filled)
          : (await readInto(file, bytes, filled, bytes.byteLength - filled, filled)).bytesRead
      if (bytesRead === 0)
        throw new InputError(
          `${path}: ended at byte ${filled} of ${bytes.byteLength}; ` +
            'the file was truncated after it was opened',
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
    return openRegularFile(path)
  } catch (error) {
    throw new InputError(`${path}: cannot read the file; it must contain the matrices of the adapter`, {
      cause: error,
    })
  }
}

/** Numbers that are decoded or checked between yields: about a millisecond's work. */
const NUMBERS_AT_ONCE = 500_000

/** Linears of the adapter's model. */
type Linears = readonly { name: string }[]
/** Limits of an adapter for one model: bytes of its matrices' file, and experts in fused matrices. */
export type AdapterLimits = { maxBytes: number; experts: number }

/**
 * Reads an adapter of ours or of PEFT. Every A must have its B, of the rank in the configuration. PEFT's
 * fused matrices of experts are split; the model's linears tell whether gate and up are separate.
 */
export async function readAdapter(directory: string, linears: Linears = []): Promise<Adapter> {
  const { tensors: stored, ...rest } = await readStoredAdapter(directory, linears)
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

/**
 * The same with every matrix in its stored form, for callers that can use it. Limits are checked before any
 * long read or split.
 */
export async function readStoredAdapter(
  directory: string,
  linears: Linears = [],
  limits?: AdapterLimits,
): Promise<StoredAdapter> {
  const config = readAdapterConfig(join(directory, ADAPTER_CONFIG))
  const path = join(directory, ADAPTER_WEIGHTS)
  const file = await openSafetensors(path, path => openWhole(path, limits?.maxBytes ?? Infinity))
  const { rankOf, scaleOf } = ranksOf(join(directory, ADAPTER_CONFIG), config)
  const tensors: StoredTensor[] = []
  const fused: StoredTensor[] = []
  const magnitudes: AdapterVector[] = []
  const readFinite = async (name: string, dtype: FloatDtype) => {
    const bytes = await file.read(name)
    if (findNotFinite(dtype, bytes) !== undefined)
      throw new InputError(
        `${path}: ${JSON.stringify(name)} contains a non-finite number; the run that wrote it diverged`,
      )
    return bytes
  }
  const changes = createChanges(path, config, scaleOf)
  let checked = 0
  for (const [stored, entry] of file.tensors) {
    const isChange =
      stored.startsWith(PREFIX) &&
      (await changes.take(stored.slice(PREFIX.length), entry, () =>
        readFinite(stored, entry.dtype as FloatDtype),
      ))
    if (isChange) continue
    const match = /^base_model\.model\.(.+)\.lora_(?:([AB])\.weight|magnitude_vector)$/.exec(stored)
    const [, linear = '', side] = match ?? []
    if (!match || (side === undefined && !config.use_dora))
      throw new UnsupportedError(
        `${path}: ${JSON.stringify(stored)} is not a matrix of a LoRA adapter of a linear layer, ` +
          'and modules_to_save does not name its module',
      )
    checkTensor(path, entry, FLOAT_DTYPES)
    const dtype = entry.dtype as FloatDtype
    const [rows = 0, columns = 0] = entry.shape
    if (side === undefined) {
      if (entry.shape.length !== 1)
        throw new InputError(
          `${path}: ${JSON.stringify(stored)} has shape (${entry.shape.join(', ')}), expected one dimension`,
        )
      const matrix = stored.replace(/lora_magnitude_vector$/, 'lora_A.weight')
      if (!file.tensors.has(matrix))
        throw new InputError(`${path}: ${JSON.stringify(stored)} has no ${JSON.stringify(matrix)}`)
      const values = decodeFloats(dtype, await readFinite(stored, dtype))
      magnitudes.push({ name: stored.slice(PREFIX.length), shape: [values.length], values })
      continue
    }
    const rank = side === 'A' ? rows : columns
    const parameter = fusedParameter(path, linear, config.target_parameters ?? [])
    const wanted = rankOf(parameter ?? linear)
    if (entry.shape.length !== 2 || (parameter === undefined ? rank !== wanted : rank % wanted !== 0))
      throw new InputError(
        `${path}: ${JSON.stringify(stored)} is (${entry.shape.join(', ')}), expected rank ` +
          `${wanted}${parameter === undefined ? '' : ' per expert'}`,
      )
    const others = [`lora_${side === 'A' ? 'B' : 'A'}.weight`, 'lora_magnitude_vector']
    const missing = others
      .slice(0, config.use_dora ? 2 : 1)
      .map(other => stored.replace(/lora_[AB]\.weight$/, other))
      .find(other => !file.tensors.has(other))
    if (missing !== undefined)
      throw new InputError(`${path}: ${JSON.stringify(stored)} has no ${JSON.stringify(missing)}`)
    const bytes = await readFinite(stored, dtype)
    const shape = [rows, columns] as const
    if (parameter === undefined) tensors.push({ name: stored.slice(PREFIX.length), shape, dtype, bytes })
    else fused.push({ name: `${parameter}.lora_${side}.weight`, shape, dtype, bytes })
    checked += rows * columns
    if (checked < NUMBERS_AT_ONCE) continue
    checked = 0
    await setImmediate()
  }
  await partAll(path, fused, { rankOf, linears, tensors, limits })
  const changed = changes.finish()
  if (tensors.length === 0 && changed.length === 0) throw new InputError(`${path}: has no tensors`)
  const names = new Set<string>()
  for (const { name } of tensors) {
    if (names.has(name))
      throw new InputError(
        `${path}: has ${name} twice, separately and in the fused matrices of all experts; keep one`,
      )
    names.add(name)
  }
  const modules = new Set(tensors.flatMap(({ name }) => name.split('.').at(-3) ?? []))
  return {
    baseModel: config.base_model_name_or_path ?? '',
    lora_rank: Math.max(
      0,
      ...tensors.map(({ name, shape }) => shape[name.endsWith('lora_A.weight') ? 0 : 1]),
    ),
    lora_alpha: config.lora_alpha,
    lora_dropout: config.lora_dropout,
    lora_target_modules: [...modules],
    use_rslora: config.use_rslora,
    use_dora: config.use_dora,
    scaleOf: linear => scaleOf(fused.length > 0 ? parameterOf(linear) : linear),
    tensors,
    magnitudes,
    changes: changed,
  }
}

/** Adds the matrices of every expert to `tensors`. */
async function partAll(
  path: string,
  fused: readonly StoredTensor[],
  {
    rankOf,
    linears,
    tensors,
    limits,
  }: {
    rankOf: (linear: string) => number
    linears: Linears
    tensors: StoredTensor[]
    limits: AdapterLimits | undefined
  },
): Promise<void> {
  const names = expertNamesOf(linears)
  for (const a of fused) {
    const parameter = a.name.replace(/\.lora_A\.weight$/, '')
    if (parameter === a.name) continue
    const b = fused.find(({ name }) => name === `${parameter}.lora_B.weight`)
    if (b?.shape[1] !== a.shape[0])
      throw new InputError(
        `${path}: lora_A of ${parameter} has ${a.shape[0]} rows for all experts, lora_B has ${b?.shape[1]}`,
      )
    const experts = a.shape[0] / rankOf(parameter)
    if (limits && experts !== limits.experts)
      throw new InputError(
        `${path}: ${parameter} has ${experts} experts, expected ${limits.experts}; ` +
          'the adapter was trained on another base',
      )
    let parted = 0
    for (const pair of partFused({ parameter, rank: rankOf(parameter), a, b }, names)) {
      tensors.push(...pair)
      parted += pair.reduce((sum, { shape }) => sum + shape[0] * shape[1], 0)
      if (parted < NUMBERS_AT_ONCE) continue
      parted = 0
      await setImmediate()
    }
  }
}
