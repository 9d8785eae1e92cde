/**
 * Reads a GGUF file: magic, version, counts, metadata, a table of tensors, then their bytes, each at a
 * multiple of the alignment. Everything that later code relies on is checked here, once. Tensors are views of
 * the mapped file.
 */
import { InputError, UnsupportedError } from '../errors.ts'
import { openMapped } from '../mapped-file.ts'
import { createByteReader, type ByteReader } from './byte-reader.ts'
import { createMetadata, readValue, type GgufValue, type Metadata } from './metadata.ts'
import { GGUF_TYPES, GGUF_TYPE_NAMES, storedBytes, typeOfId, type GgufType } from './tensor-types.ts'

/**
 * `shape` has rows first, as everywhere here; a file has them last. Positions count from the file's start.
 */
export type GgufTensor = { name: string; type: GgufType; shape: number[]; start: number; end: number }

export type GgufFile = {
  path: string
  metadata: Metadata
  tensors: ReadonlyMap<string, GgufTensor>
  /** A tensor's bytes as stored in the file. */
  read: (tensor: GgufTensor) => Promise<Uint8Array>
  close: () => Promise<void>
}

export const MAGIC = 'GGUF'
export const VERSION = 3
export const DEFAULT_ALIGNMENT = 32
const MAX_DIMENSIONS = 4
/**
 * A key has its length, its type and a byte. An entry of the table has its name's length, dimensions, type,
 * offset.
 */
const MIN_KEY_BYTES = 13
const MIN_ENTRY_BYTES = 24

/** Whether a path names a GGUF file. */
export const isGgufPath = (path: string): boolean => /\.gguf$/i.test(path)

/** Maps a file and checks its head. Reads no tensor. */
export async function openGguf(path: string): Promise<GgufFile> {
  const source = await openMapped(path)
  try {
    const { metadata, tensors } = parseGguf(path, await source.read(0, source.byteLength))
    return {
      path,
      metadata,
      tensors,
      read: ({ start, end }) => source.read(start, end - start),
      close: source.close,
    }
  } catch (error) {
    await source.close()
    throw error
  }
}

/** The pure part of openGguf. */
export function parseGguf(path: string, bytes: Uint8Array): Pick<GgufFile, 'metadata' | 'tensors'> {
  const r = createByteReader(path, bytes)
  checkMagic(r, bytes)
  r.about('the header')
  const tensorCount = r.count('a tensor count of', MIN_ENTRY_BYTES)
  const keyCount = r.count('a metadata count of', MIN_KEY_BYTES)
  const values = new Map<string, GgufValue>()
  for (let i = 0; i < keyCount; i++) {
    r.about(`metadata key ${i + 1} of ${keyCount}`)
    const key = r.text()
    r.about(`metadata ${JSON.stringify(key)}`)
    if (values.has(key)) r.fail('occurs twice')
    values.set(key, readValue(path, bytes, r, key))
  }
  const metadata = createMetadata(path, values)
  const shards = metadata.whole('split.count') ?? 1
  if (shards > 1)
    throw new UnsupportedError(
      `${path}: is one of ${shards} parts of a model; join them first (llama-gguf-split --merge)`,
    )
  const alignment = metadata.whole('general.alignment') ?? DEFAULT_ALIGNMENT
  if (alignment < 8 || (alignment & (alignment - 1)) !== 0)
    throw new InputError(`${path}: general.alignment must be a power of two of at least 8, got ${alignment}`)
  const found = new Map<string, GgufTensor>()
  for (let i = 0; i < tensorCount; i++) {
    r.about(`tensor ${i + 1} of ${tensorCount}`)
    const tensor = readEntry(r, alignment)
    if (found.has(tensor.name)) r.fail('occurs twice')
    found.set(tensor.name, tensor)
  }
  const dataStart = Math.ceil(r.position / alignment) * alignment
  const placed = [...found.values()].map(t => ({ ...t, start: t.start + dataStart, end: t.end + dataStart }))
  checkLayout(path, placed, bytes.byteLength)
  return { metadata, tensors: new Map(placed.map(tensor => [tensor.name, tensor])) }
}

function checkMagic(r: ByteReader, bytes: Uint8Array): void {
  r.about('not a GGUF file')
  const letters = new TextDecoder('latin1').decode(bytes.subarray(0, 4))
  if (letters !== MAGIC) r.fail(`begins with ${JSON.stringify(letters)}, expected ${JSON.stringify(MAGIC)}`)
  r.take(4)
  r.about('the header')
  const version = r.u32()
  if (version === VERSION << 24) r.fail('is big-endian; only little-endian files are supported')
  // Version 2 does not differ in anything read here.
  if (version !== 2 && version !== VERSION) r.fail(`has version ${version}; supported: 2 and 3`)
}

/** An entry of the table. Positions count from the first tensor's. */
function readEntry(r: ByteReader, alignment: number): GgufTensor {
  const name = r.text()
  r.about(`tensor ${JSON.stringify(name)}`)
  const dimensions = r.u32()
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS)
    r.fail(`has ${dimensions} dimensions, expected 1 to ${MAX_DIMENSIONS}`)
  const shape = Array.from({ length: dimensions }, () => r.size('a dimension of')).toReversed()
  const id = r.u32()
  const offset = r.size('an offset of')
  const found = typeOfId(id)
  if ('unread' in found)
    throw new UnsupportedError(
      `${r.path}: tensor ${JSON.stringify(name)} has the unsupported type ${found.unread}; ` +
        `supported: ${GGUF_TYPE_NAMES.join(', ')}`,
    )
  const { type } = found
  const { block } = GGUF_TYPES[type]
  const row = shape.at(-1) ?? 0
  if (row % block !== 0)
    r.fail(`has rows of ${row} elements, which are not a multiple of the block of ${block} in ${type}`)
  const bytes = storedBytes(
    type,
    shape.reduce((product, size) => product * size, 1),
  )
  if (!Number.isSafeInteger(bytes)) r.fail(`(${shape.join(', ')}) is larger than any file`)
  if (offset % alignment !== 0)
    r.fail(`is at offset ${offset}, which is not a multiple of the alignment ${alignment}`)
  return { name, type, shape, start: offset, end: offset + bytes }
}

/** Tensors must not overlap or exceed the file. Only alignment may leave gaps. */
function checkLayout(path: string, tensors: readonly GgufTensor[], fileBytes: number): void {
  let before: GgufTensor | undefined
  for (const tensor of tensors.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const name = JSON.stringify(tensor.name)
    if (tensor.end > fileBytes)
      throw new InputError(
        `${path}: truncated: tensor ${name} ends at byte ${tensor.end}, but the file has ` +
          `${fileBytes}; download it again`,
      )
    if (before && tensor.start < before.end)
      throw new InputError(
        `${path}: tensor ${name} starts at byte ${tensor.start} and overlaps ` +
          `${JSON.stringify(before.name)}, which ends at ${before.end}`,
      )
    before = tensor
  }
}
