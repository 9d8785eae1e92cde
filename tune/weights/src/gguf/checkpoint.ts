/**
 * The weights of a GGUF file under their Hugging Face names. Blocks are decoded when they are read, and
 * interleaved rows are permuted back to halves.
 */
import type { Checkpoint } from '../checkpoint.ts'
import { InputError, UnsupportedError } from '../errors.ts'
import { matricesOf } from '../experts.ts'
import type { SafetensorsDtype, TensorEntry } from '../safetensors-header.ts'
import { storesPlusOne, permuteRows, weightNames, type WeightName } from './architectures.ts'
import { architectureOf, layersOf } from './config.ts'
import { distributed, isExpertWeight, type Stack } from './distributed-experts.ts'
import { openGguf, type GgufFile, type GgufTensor } from './gguf-file.ts'
import { ROPE_DIVISORS } from './rope-scaling.ts'
import { decodeGguf, storedBytes, type GgufType } from './tensor-types.ts'

/** Types used in place. */
const PLAIN = ['F32', 'BF16', 'F16'] as const satisfies readonly (GgufType & SafetensorsDtype)[]
const plainOf = (type: GgufType) => PLAIN.find(plain => plain === type)

/**
 * Opens a file and finds a name for every tensor. An unknown tensor is rejected, because it may affect the
 * model's output.
 */
export async function openGgufCheckpoint(path: string): Promise<Checkpoint> {
  const file = await openGguf(path)
  try {
    return checkpointOf(file)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A weight, with the entry that a safetensors checkpoint would have for it. */
type Weight = {
  entry: TensorEntry
  /** Its tensor in the file, whose pages are released after it is read. */
  stored: GgufTensor
  read: () => Promise<Uint8Array>
}

/** The matrices of a tensor of all experts, by their names in a checkpoint. Any other tensor by itself. */
function matricesIn(tensor: GgufTensor, name: string): { tensor: GgufTensor; name: string }[] {
  const { type, shape, start } = tensor
  if (shape.length !== 3) return [{ tensor, name }]
  const size = storedBytes(type, (shape[1] ?? 0) * (shape[2] ?? 0))
  return matricesOf({ name, shape }).map((matrix, e) => ({
    name: matrix.name,
    tensor: { ...tensor, shape: [...matrix.shape], start: start + e * size, end: start + (e + 1) * size },
  }))
}

function checkpointOf(file: GgufFile): Checkpoint {
  const { path, metadata } = file
  const row = architectureOf(file)
  const whole = (name: string) => metadata.whole(`${row.name}.${name}`)
  const layers = layersOf(file, row)
  const queries = whole('attention.head_count') ?? 0
  const heads = { queries, keys: whole('attention.head_count_kv') ?? queries }
  const byGguf = new Map(weightNames(row, layers).map(names => [names.gguf, names]))
  const weights = new Map<string, Weight>()
  const add = (weight: Weight) => weights.set(weight.entry.name, weight)
  const stacks = new Map<string, Stack>()
  for (const tensor of file.tensors.values()) {
    if (tensor.name === ROPE_DIVISORS) continue
    const names = byGguf.get(tensor.name)
    if (!names)
      throw new UnsupportedError(
        `${path}: unexpected tensor ${JSON.stringify(tensor.name)} for a ${row.name} model of ` +
          `${layers} layers`,
      )
    if (row.alternating && isExpertWeight(names.name)) {
      stacks.set(names.name, { ...stacks.get(names.name), [names.rows ?? 'all']: tensor })
      continue
    }
    const permuted = headsOf(path, tensor, names, heads)
    for (const matrix of matricesIn(tensor, names.name)) {
      const weight = weightOfTensor(file, matrix, permuted)
      add(storesPlusOne(row, names.name) ? withoutOne(weight) : weight)
    }
  }
  for (const [name, stack] of stacks) for (const weight of distributed(file, name, stack)) add(weight)
  const weightOf = (name: string): Weight => {
    const weight = weights.get(name)
    if (!weight) throw new InputError(`${path}: has no tensor ${JSON.stringify(name)}`)
    return weight
  }
  const read = (name: string) => weightOf(name).read()
  return {
    directory: path,
    tensors: new Map([...weights].map(([name, { entry }]) => [name, entry])),
    pathOf: () => path,
    read,
    readRows: async (name, start, end) => {
      const bytes = await read(name)
      const size = bytes.byteLength / (weightOf(name).entry.shape[0] ?? 1)
      return bytes.subarray(start * size, end * size)
    },
    readStored: name => file.read(weightOf(name).stored),
    close: file.close,
  }
}

/** A tensor, or one expert's matrix in it. */
function weightOfTensor(
  file: GgufFile,
  { tensor, name }: { tensor: GgufTensor; name: string },
  permuted: number | undefined,
): Weight {
  return {
    entry: entryOf(name, tensor),
    stored: tensor,
    async read() {
      const stored = await file.read(tensor)
      const bytes =
        permuted === undefined ? stored : permuteRows(stored, tensor.shape[0] ?? 0, permuted, true)
      return plainOf(tensor.type) ? bytes : decoded(tensor.type, bytes)
    },
  }
}

/** A norm's weight as in Hugging Face checkpoints. */
function withoutOne(weight: Weight): Weight {
  const { entry } = weight
  const { type } = weight.stored
  return {
    ...weight,
    entry: { ...entry, dtype: 'F32', decodedFrom: type },
    async read() {
      const values = decodeGguf(type, await weight.read())
      return bytesOf(values.map(value => value - 1))
    },
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

function decoded(type: GgufType, stored: Uint8Array): Uint8Array {
  return bytesOf(decodeGguf(type, stored))
}

/** Heads whose rows must be permuted. */
function headsOf(
  path: string,
  { name, shape }: GgufTensor,
  { permuted }: WeightName,
  heads: { queries: number; keys: number },
): number | undefined {
  if (!permuted) return undefined
  const rows = shape[0] ?? 0
  if (heads[permuted] > 0 && rows % (2 * heads[permuted]) === 0) return heads[permuted]
  throw new InputError(
    `${path}: tensor ${JSON.stringify(name)} has ${rows} rows, which do not divide into pairs of ` +
      `${heads[permuted]} heads`,
  )
}

const entryOf = (name: string, { type, shape, start, end }: GgufTensor): TensorEntry => {
  const plain = plainOf(type)
  return { name, dtype: plain ?? 'F32', shape, start, end, ...(plain ? {} : { decodedFrom: type }) }
}
