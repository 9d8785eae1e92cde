/** Reading one safetensors file. */
import { openFileBytes, type ByteSource } from './byte-source.ts'
import { InputError } from './errors.ts'
import {
  LENGTH_BYTES,
  parseHeader,
  readHeaderLength,
  type SafetensorsDtype,
  type TensorEntry,
} from './safetensors-header.ts'

export type Safetensors = {
  path: string
  metadata: Record<string, string>
  tensors: ReadonlyMap<string, TensorEntry>
  /** The bytes of a tensor. */
  read: (name: string) => Promise<Uint8Array>
  /** The bytes of some rows of a tensor, `end` excluded. */
  readRows: (name: string, start: number, end: number) => Promise<Uint8Array>
  close: () => Promise<void>
}

/** Opens a file and checks its header. Reads no tensor. */
export async function openSafetensors(
  path: string,
  open: (path: string) => Promise<ByteSource> = openFileBytes,
): Promise<Safetensors> {
  const source = await open(path)
  try {
    const first = await source.read(0, Math.min(LENGTH_BYTES, source.byteLength))
    const length = readHeaderLength(path, first, source.byteLength)
    const { metadata, tensors } = parseHeader(
      path,
      await source.read(LENGTH_BYTES, length),
      source.byteLength,
    )
    return {
      path,
      metadata,
      tensors,
      close: source.close,
      read: async name => {
        const { start, end } = entryOf(path, tensors, name)
        return source.read(start, end - start)
      },
      readRows: async (name, from, to) => {
        const { start, end, shape } = entryOf(path, tensors, name)
        const rows = shape[0] ?? 0
        if (from < 0 || to > rows || from > to)
          throw new RangeError(
            `${path}: rows ${from} to ${to} of ${JSON.stringify(name)} do not exist; it has ${rows}`,
          )
        const bytes = rows === 0 ? 0 : (end - start) / rows
        return source.read(start + from * bytes, (to - from) * bytes)
      },
    }
  } catch (error) {
    await source.close()
    throw error
  }
}

function entryOf(path: string, tensors: ReadonlyMap<string, TensorEntry>, name: string): TensorEntry {
  const entry = tensors.get(name)
  if (entry) return entry
  throw new InputError(`${path}: has no tensor ${JSON.stringify(name)}`)
}

/** Throws unless a tensor has one of these dtypes and, if given, this shape. */
export function checkTensor(
  path: string,
  entry: TensorEntry,
  dtypes: readonly SafetensorsDtype[],
  shape?: readonly number[],
): void {
  const refuse = (what: string, wanted: string, got: string): never => {
    throw new InputError(
      `${path}: tensor ${JSON.stringify(entry.name)} must have ${what} ${wanted}, got ${got}`,
    )
  }
  if (!dtypes.includes(entry.dtype)) refuse('dtype', dtypes.join(' or '), entry.dtype)
  if (shape && (shape.length !== entry.shape.length || shape.some((size, i) => size !== entry.shape[i]))) {
    refuse('shape', `(${shape.join(', ')})`, `(${entry.shape.join(', ')})`)
  }
}
