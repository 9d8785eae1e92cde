/** Writes safetensors files, byte for byte like the format's own library. */
import { join } from 'node:path'
import { writeAll, writeAtomically, writeTextAtomically } from './atomic-file.ts'
import { SAFETENSORS_DTYPES, byteLengthOf, type SafetensorsDtype } from './safetensors-header.ts'

/** `bytes` may be a function, so that a model larger than memory is written tensor by tensor. */
export type TensorToWrite = {
  name: string
  dtype: SafetensorsDtype
  shape: readonly number[]
  bytes: Uint8Array | (() => Uint8Array | Promise<Uint8Array>)
}

/** Python readers require it. */
const METADATA = { format: 'pt' }
const HEADER_ALIGNMENT = 8

const byteLength = ({ dtype, shape }: TensorToWrite) => byteLengthOf(dtype, shape)

/** The widest dtype first, so that every tensor is aligned; then by name. */
export function inFileOrder<T extends Pick<TensorToWrite, 'name' | 'dtype'>>(tensors: readonly T[]): T[] {
  const rank = ({ dtype }: T) => SAFETENSORS_DTYPES.indexOf(dtype)
  return tensors.toSorted((a, b) => rank(b) - rank(a) || compareBytes(a.name, b.name))
}

/** Order of UTF-8 bytes, which is that of code points. */
const compareBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

function headerOf(ordered: readonly TensorToWrite[], metadata: Record<string, string>): Uint8Array {
  let position = 0
  const entries = ordered.map(tensor => {
    const begin = position
    position += byteLength(tensor)
    return [
      tensor.name,
      { dtype: tensor.dtype, shape: tensor.shape, data_offsets: [begin, position] },
    ] as const
  })
  const json = new TextEncoder().encode(
    JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }),
  )
  const padded = Math.ceil(json.byteLength / HEADER_ALIGNMENT) * HEADER_ALIGNMENT
  const header = new Uint8Array(8 + padded).fill(0x20)
  new DataView(header.buffer).setBigUint64(0, BigInt(padded), true)
  header.set(json, 8)
  return header
}

/** Writes one file, which appears whole or not at all. */
export async function writeSafetensors(
  path: string,
  tensors: readonly TensorToWrite[],
  metadata: Record<string, string> = METADATA,
): Promise<void> {
  const names = new Set(tensors.map(({ name }) => name))
  if (names.size !== tensors.length)
    throw new Error(`[writeSafetensors] ${path}: two tensors have the same name`)
  const ordered = inFileOrder(tensors)
  await writeAtomically(path, async file => {
    await writeAll(file, headerOf(ordered, metadata))
    for (const tensor of ordered) {
      const bytes = typeof tensor.bytes === 'function' ? await tensor.bytes() : tensor.bytes
      if (bytes.byteLength !== byteLength(tensor)) {
        throw new Error(
          `[writeSafetensors] ${tensor.name}: (${tensor.shape.join(', ')}) of ${tensor.dtype} takes ` +
            `${byteLength(tensor)} bytes, got ${bytes.byteLength}`,
        )
      }
      await writeAll(file, bytes)
    }
  })
}

const number = (i: number) => String(i).padStart(5, '0')

/** Writes `model.safetensors`, or shards of at most `maxShardBytes` with their index, which comes last. */
export async function writeCheckpoint(
  directory: string,
  tensors: readonly TensorToWrite[],
  maxShardBytes = 5e9,
): Promise<string[]> {
  const shards = splitShards(tensors, maxShardBytes)
  if (shards.length <= 1) {
    await writeSafetensors(join(directory, 'model.safetensors'), tensors)
    return ['model.safetensors']
  }
  const files = shards.map((_, i) => `model-${number(i + 1)}-of-${number(shards.length)}.safetensors`)
  for (const [i, shard] of shards.entries()) await writeSafetensors(join(directory, files[i] ?? ''), shard)
  const places = shards.flatMap((shard, i) => shard.map(({ name }) => [name, files[i] ?? ''] as const))
  const index = {
    metadata: { total_size: tensors.reduce((sum, tensor) => sum + byteLength(tensor), 0) },
    weight_map: Object.fromEntries(places.toSorted(([a], [b]) => compareBytes(a, b))),
  }
  await writeTextAtomically(
    join(directory, 'model.safetensors.index.json'),
    `${JSON.stringify(index, null, 2)}\n`,
  )
  return [...files, 'model.safetensors.index.json']
}

/** In the given order. A tensor larger than a shard gets its own. */
function splitShards(tensors: readonly TensorToWrite[], maxShardBytes: number): TensorToWrite[][] {
  const shards: TensorToWrite[][] = []
  let remaining = 0
  for (const tensor of tensors) {
    const bytes = byteLength(tensor)
    if (shards.length === 0 || bytes > remaining) {
      shards.push([])
      remaining = maxShardBytes
    }
    shards.at(-1)?.push(tensor)
    remaining -= bytes
  }
  return shards
}
