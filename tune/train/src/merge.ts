/** Merges an adapter into its base: W + scale·B·A, in the base's own dtype, as a separate model directory. */
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MAGNITUDE, partsOf, readModelConfig, type ModelConfig, type Projection } from '@cairn-tune/models'
import {
  EMBEDDINGS,
  HEAD,
  InputError,
  MODEL_TEXTS,
  copyTemplates,
  UnsupportedError,
  changeMismatch,
  changedShape,
  changedWeight,
  decodeFloats,
  encodeFloats,
  exactJson,
  layoutOf,
  missingExperts,
  makeDirectory,
  openCheckpoint,
  parseExact,
  readAdapter,
  readModelText,
  templatesIn,
  withTiedHead,
  writeCheckpoint,
  writeTemplates,
  type Adapter,
  type AdapterTensor,
  type Checkpoint,
  type SafetensorsDtype,
  type TensorToWrite,
  type WeightChange,
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
  const config = await readModelConfig(base)
  const { projections } = partsOf(config)
  const found = await readAdapter(adapter, projections)
  const model = await openCheckpoint(base)
  try {
    const pairs = pairUp(found)
    for (const [name, pair] of pairs) checkFits(model, name, pair)
    checkExperts(adapter, found, projections)
    const changes = changesByWeight(model, adapter, found, config)
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
    const replaced = [...changes].map(([name, change]) => replacement(model, name, change))
    await writeCheckpoint(output, [...tensors.filter(({ name }) => !changes.has(name)), ...replaced])
    await copyCompanions(base, output)
    await copyTokenizer(adapter, output)
    await writeChangedConfig(output, config, replaced)
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
  await copyTemplates(from, to)
}

/** Files that belong to the weights. */
const NOT_TOKENIZER = ['config.json', 'generation_config.json', 'hf_quant_config.json']

/**
 * Replaces the tokenizer in `to` by that of a run or adapter, if it has one: its tokens may have been added.
 * The same for chat templates.
 */
export async function copyTokenizer(from: string, to: string): Promise<void> {
  const hasTokenizer = (await readModelText(from, 'tokenizer.json')) !== undefined
  const own = await templatesIn(from)
  const templates = own ?? (hasTokenizer ? await templatesIn(to) : undefined)
  for (const name of hasTokenizer ? MODEL_TEXTS : []) {
    const text = NOT_TOKENIZER.includes(name) ? undefined : await readModelText(from, name)
    if (text !== undefined) await writeFile(join(to, name), text)
  }
  if (templates) await writeTemplates(templates, to)
}

/** Writes the sizes that changed to config.json: the number of tokens, and a head that is no longer tied. */
async function writeChangedConfig(
  output: string,
  { vocab_size: vocabSize, tie_word_embeddings: isTied }: ModelConfig,
  replaced: readonly TensorToWrite[],
): Promise<void> {
  const rows = replaced.find(({ name }) => name === EMBEDDINGS)?.shape[0] ?? vocabSize
  const isSplit = isTied && replaced.some(({ name }) => name === HEAD)
  if (rows === vocabSize && !isSplit) return
  const path = join(output, 'config.json')
  // Exact numbers: transformers refuses 0 for a key that must be 0.0.
  const json = parseExact(await readFile(path, 'utf8')) as Record<string, unknown>
  const changed = { ...json, vocab_size: rows, ...(isSplit ? { tie_word_embeddings: false } : {}) }
  await writeFile(path, `${exactJson(changed, 2)}\n`)
}

/**
 * The weights that the adapter replaces, by name. A tied base gets a head of its own if the two would differ.
 */
function changesByWeight(
  model: Checkpoint,
  adapter: string,
  { changes }: Adapter,
  { tie_word_embeddings: isTied }: ModelConfig,
): Map<string, WeightChange> {
  const all = new Map(withTiedHead(changes, isTied).map(change => [change.weight, change]))
  if (isTied && all.has(EMBEDDINGS) && isSameChange(all.get(EMBEDDINGS), all.get(HEAD))) all.delete(HEAD)
  // A head without a change keeps the base's embeddings.
  else if (isTied && all.has(EMBEDDINGS) && !all.has(HEAD)) all.set(HEAD, { weight: HEAD })
  for (const [name, change] of all) {
    const { shape } = model.tensors.get(baseNameOf(model, name)) ?? {}
    if (!shape)
      throw new InputError(
        `${adapter}: replaces ${name}, which ${model.directory} does not have; it belongs to another model`,
      )
    const mismatch = changeMismatch(change, shape)
    if (mismatch !== undefined) throw new InputError(`${adapter}: ${mismatch}`)
  }
  return all
}

/** Name of the base's weight: a tied base stores its head as embeddings. */
const baseNameOf = (model: Checkpoint, name: string): string =>
  name === HEAD && !model.tensors.has(HEAD) ? EMBEDDINGS : name

/** Whether two changes have the same parts, so that a tied base stays tied. */
function isSameChange(a: WeightChange | undefined, b: WeightChange | undefined): boolean {
  if (!a || !b || a.product || b.product) return false
  const isSame = (x?: { bytes: Uint8Array }, y?: { bytes: Uint8Array }) =>
    x === y || (x !== undefined && y !== undefined && Buffer.compare(x.bytes, y.bytes) === 0)
  return isSame(a.values, b.values) && isSame(a.rows?.values, b.rows?.values)
}

/** The tensor of a replaced weight, in the base's own dtype. */
function replacement(model: Checkpoint, name: string, change: WeightChange): TensorToWrite {
  const from = baseNameOf(model, name)
  const { shape = [], dtype = 'BF16', decodedFrom } = model.tensors.get(from) ?? {}
  const wanted = decodedFrom === undefined && isFloat(dtype) ? dtype : 'BF16'
  return {
    name,
    dtype: wanted,
    shape: changedShape(change, shape),
    async bytes() {
      const readBase = async () => {
        const bytes = await model.read(from)
        if (!isFloat(dtype)) throw new UnsupportedError(`${from} of ${model.directory} is ${dtype}`)
        return { shape, values: decodeFloats(dtype, bytes) }
      }
      return encodeFloats(wanted, (await changedWeight(change, readBase)).values)
    },
  }
}

const WRITABLE = ['F32', 'BF16', 'F16'] as const
const isFloat = (dtype: SafetensorsDtype): dtype is (typeof WRITABLE)[number] =>
  WRITABLE.some(one => one === dtype)

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
