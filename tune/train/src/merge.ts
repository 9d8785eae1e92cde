/** Merges an adapter into its base: W + scale·B·A, in the base's own dtype, as a separate model directory. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MAGNITUDE, partsOf, readModelConfig, type Projection } from '@cairn-tune/models'
import {
  InputError,
  MODEL_TEXTS,
  UnsupportedError,
  decodeFloats,
  encodeFloats,
  layoutOf,
  missingExperts,
  makeDirectory,
  openCheckpoint,
  readAdapter,
  readModelText,
  writeCheckpoint,
  type Adapter,
  type AdapterTensor,
  type Checkpoint,
  type TensorToWrite,
} from '@cairn-tune/weights'

type Pair = {
  a: AdapterTensor
  b: AdapterTensor
  /** Factor of B·A. */
  scale: number
  /** Row lengths (DoRA). */
  magnitude: Float32Array | undefined
}

/**
 * Writes the merged model to `output`, which must be new or empty. Weights are read, merged and written one
 * at a time.
 */
export async function mergeAdapter({
  base,
  adapter,
  output,
}: {
  base: string
  adapter: string
  output: string
}): Promise<void> {
  const { projections } = partsOf(await readModelConfig(base))
  const found = await readAdapter(adapter, projections)
  const model = await openCheckpoint(base)
  try {
    const pairs = pairUp(found)
    for (const [name, pair] of pairs) checkFits(model, name, pair)
    checkExperts(adapter, found, projections)
    await makeDirectory(output, 'output')
    if ((await readdir(output)).length > 0)
      throw new InputError(`${output}: not empty; write the merged model to a new directory`)
    const tensors = [...model.tensors.values()].map(({ name, dtype, shape, decodedFrom }): TensorToWrite => ({
      name,
      // A quantised weight was decoded to a dtype that its file does not have. bf16 holds about the same
      // precision.
      dtype: decodedFrom === undefined ? dtype : 'BF16',
      shape,
      bytes: () => mergedBytes(model, name, pairs.get(name)),
    }))
    await writeCheckpoint(output, tensors)
    await copyCompanions(base, output)
  } finally {
    await model.close()
  }
}

/** Copies a model's text files except hf_quant_config.json, which describes quantised weights. */
export async function copyCompanions(from: string, to: string): Promise<void> {
  for (const name of MODEL_TEXTS) {
    const text = name === 'hf_quant_config.json' ? undefined : await readModelText(from, name)
    if (text !== undefined) await writeFile(join(to, name), text)
  }
}

/** Rejects an adapter with fewer experts than the base. If it has more, the base lacks a tensor for one. */
function checkExperts(adapter: string, { tensors }: Adapter, projections: readonly Projection[]): void {
  const missing = missingExperts(
    tensors.map(({ name }) => name),
    projections,
  )
  if (missing !== undefined) throw new InputError(`${adapter}: ${missing}`)
}

/** By the name of the base's weight. */
function pairUp({ tensors, magnitudes, scaleOf }: Adapter): Map<string, Pair> {
  const byName = new Map(tensors.map(tensor => [tensor.name, tensor]))
  const pairs = new Map<string, Pair>()
  for (const a of tensors) {
    const linear = a.name.replace(/\.lora_A\.weight$/, '')
    const b = byName.get(`${linear}.lora_B.weight`)
    const magnitude = magnitudes.find(({ name }) => name === `${linear}${MAGNITUDE}`)?.values
    if (linear !== a.name && b) pairs.set(`${linear}.weight`, { a, b, scale: scaleOf(linear), magnitude })
  }
  return pairs
}

function checkFits(model: Checkpoint, name: string, { a, b, magnitude }: Pair): void {
  const entry = model.tensors.get(name)
  if (!entry && layoutOf(model, name.replace(/\.experts\.\d+\./, '.experts.')) !== undefined)
    throw new UnsupportedError(
      `${model.directory}: cannot merge into quantised experts; serve the adapter unmerged`,
    )
  if (!entry)
    throw new InputError(
      `${model.directory}: has no tensor ${JSON.stringify(name)}, which the adapter changes; ` +
        'the adapter belongs to another model',
    )
  if (layoutOf(model, name) !== undefined)
    throw new UnsupportedError(
      `${model.pathOf(name)}: ${JSON.stringify(name)} is quantised; merge into the original model instead`,
    )
  const rows = magnitude?.length ?? b.shape[0]
  if (entry.shape[0] !== b.shape[0] || entry.shape[1] !== a.shape[1] || entry.shape[0] !== rows) {
    throw new InputError(
      `${model.pathOf(name)}: ${JSON.stringify(name)} is (${entry.shape.join(', ')}), but the ` +
        `adapter is for (${b.shape[0]}, ${a.shape[1]}); it belongs to another model`,
    )
  }
}

async function mergedBytes(model: Checkpoint, name: string, pair: Pair | undefined): Promise<Uint8Array> {
  const bytes = await model.read(name)
  const { dtype, decodedFrom } = model.tensors.get(name) ?? {}
  if (!pair && decodedFrom === undefined) return bytes
  if (dtype !== 'F32' && dtype !== 'BF16' && dtype !== 'F16')
    throw new UnsupportedError(
      `${model.pathOf(name)}: cannot merge into ${JSON.stringify(name)}, which is ${dtype}; ` +
        'supported: F32, BF16, F16',
    )
  const weight = decodeFloats(dtype, bytes)
  if (pair) addProduct(weight, pair)
  return encodeFloats(decodedFrom === undefined ? dtype : 'BF16', weight)
}

/** weight += scale·B·A, in f64 and rounded once. Rows get the adapter's lengths if it has some. */
function addProduct(weight: Float32Array, { a, b, scale, magnitude }: Pair): void {
  const [n, rank] = b.shape
  const k = a.shape[1]
  const row = new Float64Array(k)
  for (let i = 0; i < n; i++) {
    row.fill(0)
    for (let r = 0; r < rank; r++) {
      const factor = b.values[i * rank + r] ?? 0
      for (let j = 0; j < k; j++) row[j] = (row[j] ?? 0) + factor * (a.values[r * k + j] ?? 0)
    }
    for (let j = 0; j < k; j++) row[j] = (weight[i * k + j] ?? 0) + scale * (row[j] ?? 0)
    const length = magnitude && (magnitude[i] ?? 0) / Math.sqrt(row.reduce((sum, x) => sum + x * x, 0))
    for (let j = 0; j < k; j++) weight[i * k + j] = (row[j] ?? 0) * (length ?? 1)
  }
}
