/**
 * Loads a model's weights into the engine, to train or to serve. A weight used in its file format is mapped,
 * and copied only on request; others are converted by native code, one at a time.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { forgetPages } from '@cairn-tune/native'
import { FLOATS, byteLength, matrixStride, typeText, type Dtype, type Shape } from '@cairn-tune/ops'
import type { BaseWeight, Checkpoint, StoredWeight } from './checkpoint.ts'
import { createConverter, type Convert } from './converter.ts'
import { InputError, UnsupportedError } from './errors.ts'
import { matricesOf, storedName } from './experts.ts'
import { openMapped } from './mapped-file.ts'
import { findNotFinite } from './float-values.ts'
import { mxfp4Names } from './mxfp4-experts.ts'
import { openCheckpoint } from './open-checkpoint.ts'
import { layoutOf, readWeight } from './quantized.ts'
import { byteLengthOf } from './safetensors-header.ts'
import { openSpool } from './spool.ts'

/** Opens a model's weights as mapped memory. */
export const openMappedCheckpoint = (directory: string): Promise<Checkpoint> =>
  openCheckpoint(directory, openMapped)

/** Explains why a checkpoint lacks a tensor: another format, another name, or another model. */
function missingTensor(checkpoint: Checkpoint, weight: string, name: string): Error {
  const stacked = weight.replace(/\.experts\.(?:\d+\.)?/, '.experts.').replace(/\.weight$/, '')
  if (stacked.includes('.experts.') && checkpoint.tensors.has(stacked))
    return new UnsupportedError(
      `${checkpoint.pathOf(stacked)}: ${JSON.stringify(stacked)} holds all experts in ` +
        `${checkpoint.tensors.get(stacked)?.dtype}, which is not supported: ` +
        'experts of gpt-oss are only read in MXFP4, as distributed; use the original model',
    )
  const other = [...checkpoint.tensors.keys()].find(found => found.endsWith(`.${name}`))
  const hint =
    other !== undefined
      ? `; it has ${JSON.stringify(other)}: save the model again without ` +
        JSON.stringify(other.slice(0, -name.length))
      : name === 'lm_head.weight'
        ? '; the model was saved without its head: save it from the class for causal language models'
        : ''
  return new InputError(
    `${checkpoint.directory}: has no tensor ${JSON.stringify(name)}, which config.json requires${hint}`,
  )
}

/** Storage of a weight, or of its first matrix: an engine dtype, or F16, which is not one. */
function storedDtype(checkpoint: Checkpoint, weight: string): Dtype | 'f16' {
  const name = storedName(checkpoint, weight)
  const layout = layoutOf(checkpoint, name)
  if (layout) return layout
  const entry = checkpoint.tensors.get(name)
  if (!entry) throw missingTensor(checkpoint, weight, name)
  const known = { BF16: 'bf16', F32: 'f32', F16: 'f16' } as const
  const dtype = Object.hasOwn(known, entry.dtype) ? known[entry.dtype as keyof typeof known] : undefined
  if (!dtype)
    throw new InputError(
      `${checkpoint.pathOf(name)}: tensor ${JSON.stringify(name)} must have dtype BF16, F32 or F16, got ` +
        `${entry.dtype}`,
    )
  return dtype
}

/**
 * Storage of a weight that no recipe quantises: the file's; f32 for F16, whose numbers fit in no smaller
 * dtype; bf16 for weights decoded from fewer bits.
 */
export function plainDtype(checkpoint: Checkpoint, name: string): Dtype {
  const stored = storedDtype(checkpoint, name)
  const from = checkpoint.tensors.get(storedName(checkpoint, name))?.decodedFrom
  if (from !== undefined && from !== 'F32') return 'bf16'
  return stored === 'f16' ? 'f32' : stored
}

/** A weight's entries in a checkpoint: one, or a matrix per expert. */
const storedMatrices = (checkpoint: Checkpoint, weight: BaseWeight): BaseWeight[] =>
  layoutOf(checkpoint, weight.name) ? [weight] : matricesOf(weight)

/** Throws unless every weight exists, has its shape, and can be stored as requested. Reads only headers. */
export function checkBase(checkpoint: Checkpoint, base: readonly BaseWeight[]): void {
  for (const { name, dtype, shape } of base.flatMap(weight => storedMatrices(checkpoint, weight))) {
    const stored = storedDtype(checkpoint, name)
    const isPlain = stored === 'f16' || FLOATS.includes(stored)
    if (!isPlain && stored !== dtype) {
      throw new UnsupportedError(
        `${checkpoint.pathOf(name)}: ${JSON.stringify(name)} is quantised as ${stored} and cannot be ` +
          `requantised to ${dtype}; use the recipe whose base is ${stored}`,
      )
    }
    const found = checkpoint.tensors.get(name)?.shape ?? []
    if (isPlain && (found.length !== shape.length || found.some((size, i) => size !== shape[i]))) {
      throw new InputError(
        `${checkpoint.pathOf(name)}: tensor ${JSON.stringify(name)} must have shape ` +
          `(${shape.join(', ')}), got (${found.join(', ')}); ` +
          'config.json and the weights belong to different models',
      )
    }
  }
}

/**
 * Bytes needed while a weight is converted, for the file's data and the decoded numbers. 0 if it is used in
 * place.
 */
export function loadingBytes(checkpoint: Checkpoint, { name, dtype }: BaseWeight): number {
  const entry = checkpoint.tensors.get(storedName(checkpoint, name))
  if (!entry) return 0
  const stored = entry.end - entry.start
  if (entry.decodedFrom !== undefined) return stored + byteLengthOf(entry.dtype, entry.shape)
  return storedDtype(checkpoint, name) === dtype ? 0 : stored
}

export type LoadBaseOptions = {
  /**
   * Copies weights that could be used in place in the mapped file. A map has pages of 4 KiB; a step that only
   * reads weights runs a third faster from the engine's own memory with pages of 2 MiB. The file's pages are
   * released.
   */
  copies?: boolean
  /**
   * A directory for weights that cannot be used in place in the file. They are mapped from there instead of
   * held in this process's memory, so the system can evict their pages.
   */
  spoolIn?: string | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((done: number, of: number) => void) | undefined
}

/** Loads every weight, by name. */
export async function loadBase(
  engine: Engine,
  checkpoint: Checkpoint,
  base: readonly BaseWeight[],
  { copies = false, spoolIn, signal, onProgress }: LoadBaseOptions = {},
): Promise<Map<string, DeviceBuffer>> {
  checkBase(checkpoint, base)
  const convert = createConverter(engine)
  const buffers = new Map<string, DeviceBuffer>()
  const spool =
    spoolIn === undefined
      ? undefined
      : await openSpool(engine, spoolIn, convertedWeights(checkpoint, base), checkpoint)
  for (const weight of base) {
    signal?.throwIfAborted()
    const target = spool && !isInPlace(checkpoint, weight) ? spool.take(weight) : undefined
    const way = { engine, convert, copies, inFile: spool !== undefined, ...(target ? { target } : {}) }
    const buffer = await loadCopy(checkpoint, weight, way)
    if (spool) engine.letGo(buffer)
    buffers.set(weight.name, buffer)
    onProgress?.(buffers.size, base.length)
  }
  return buffers
}

/** Whether the file has a weight in the engine's format: one matrix or vector of its dtype. */
function isInPlace(checkpoint: Checkpoint, weight: BaseWeight): boolean {
  const entry = checkpoint.tensors.get(weight.name)
  if (!entry || entry.decodedFrom !== undefined || !FLOATS.includes(weight.dtype)) return false
  return storedDtype(checkpoint, weight.name) === weight.dtype
}

/** The weights that need conversion. */
export const convertedWeights = (checkpoint: Checkpoint, base: readonly BaseWeight[]): BaseWeight[] =>
  base.filter(weight => !isInPlace(checkpoint, weight))

type Way = {
  engine: Engine
  convert: Convert
  copies?: boolean
  /** Whether an in-place weight becomes a file buffer, whose pages can be released and reloaded. */
  inFile?: boolean
  /** Where to store the weight. Defaults to new memory. */
  target?: DeviceBuffer
}

/** Loads a weight of one matrix, or of one per expert, which files store one by one. */
async function loadCopy(checkpoint: Checkpoint, weight: BaseWeight, way: Way): Promise<DeviceBuffer> {
  const matrices = storedMatrices(checkpoint, weight)
  if (matrices.length === 1 && matrices[0] === weight) return await loadOne(checkpoint, weight, way)
  const { engine } = way
  const target = way.target ?? engine.allocate(byteLength(weight.dtype, weight.shape))
  const stride = matrixStride(weight.dtype, weight.shape)
  for (const [e, matrix] of matrices.entries()) {
    const bytes = byteLength(matrix.dtype, matrix.shape)
    const part = engine.part(target, e * stride, e * stride + bytes)
    await loadOne(checkpoint, matrix, { ...way, target: part })
  }
  return target
}

async function loadOne(
  checkpoint: Checkpoint,
  { name, dtype, shape }: BaseWeight,
  { engine, convert, copies = false, inFile = false, target }: Way,
): Promise<DeviceBuffer> {
  const stored = await readWeight(checkpoint, name)
  // Codes and scales were copied to their place in the dtype's layout.
  if (!FLOATS.includes(stored.dtype))
    for (const copied of [name, `${name}_scale`, ...Object.values(mxfp4Names(name))])
      if (checkpoint.tensors.has(copied)) await forgetPages(await checkpoint.readStored(copied))
  if (!FLOATS.includes(stored.dtype)) {
    const [got, wanted] = [typeText(stored), typeText({ dtype, shape })]
    if (got !== wanted)
      throw new InputError(
        `${checkpoint.pathOf(name)}: tensor ${JSON.stringify(name)} must be ${wanted}, got ${got}`,
      )
    if (!target) return engine.adopt(stored.buffer)
    engine.write(target, stored.buffer)
    return target
  }
  if (stored.dtype === dtype && !target && !copies)
    return inFile ? engine.adoptFile(stored.buffer) : engine.adopt(stored.buffer)
  if (isQuantised(dtype)) refuseNotFinite(checkpoint.pathOf(name), name, shape, stored)
  const converted = await convert(stored.buffer, stored.dtype, dtype, shape, target)
  // Releases the file's pages. Decoded numbers are elsewhere.
  await forgetPages(await checkpoint.readStored(name))
  return converted
}

const isQuantised = (dtype: Dtype) => !FLOATS.includes(dtype) && dtype !== 'bf16_vnni'

/**
 * Rejects weights that are not finite. A quantiser would turn a NaN into plausible numbers, and nothing later
 * could detect it. In bf16 and f32 a NaN reaches the loss, which stops a run.
 */
function refuseNotFinite(
  path: string,
  name: string,
  shape: Shape,
  { dtype, buffer }: Pick<StoredWeight, 'dtype' | 'buffer'>,
): void {
  const at = findNotFinite(dtype === 'bf16' ? 'BF16' : 'F32', buffer)
  if (at === undefined) return
  const columns = shape.at(-1) ?? 1
  throw new InputError(
    `${path}: tensor ${JSON.stringify(name)} contains a non-finite number in row ` +
      `${Math.floor(at / columns)}, column ${at % columns}; ` +
      'the file is damaged, or was saved by a run that diverged',
  )
}

/** Writes a weight's values in f32, for full training. */
export function createF32Loader(
  engine: Engine,
  checkpoint: Checkpoint,
): (weight: { name: string; shape: Shape }, target: DeviceBuffer) => Promise<void> {
  const convert = createConverter(engine)
  return async ({ name, shape }, target) =>
    void (await loadCopy(checkpoint, { name, dtype: 'f32', shape }, { engine, convert, target }))
}
