/**
 * The head of a safetensors file: eight bytes of length (little-endian), that many bytes of JSON, then the
 * tensors' bytes without gaps. Everything that later code relies on is checked here, once.
 */
import { InputError } from './errors.ts'

/** Bits of one element, in the order the format's own library ranks them. */
export const SAFETENSORS_BITS = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
} as const

export type SafetensorsDtype = keyof typeof SAFETENSORS_BITS
export const SAFETENSORS_DTYPES = Object.keys(SAFETENSORS_BITS) as SafetensorsDtype[]

/** `start` and `end` count from the beginning of the file. */
export type TensorEntry = {
  name: string
  dtype: SafetensorsDtype
  shape: number[]
  start: number
  end: number
  /** The quantised type that reading decodes, if the file's dtype differs from the one returned. */
  decodedFrom?: string
}
export type SafetensorsHeader = { metadata: Record<string, string>; tensors: Map<string, TensorEntry> }

export const LENGTH_BYTES = 8
/** The same limit as in the safetensors library. */
const MAX_HEADER_BYTES = 100_000_000

/**
 * Start of a Git LFS pointer, which a clone contains if the file was not fetched. It has as many bytes as a
 * header's length.
 */
const LFS_POINTER = 'version '

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Length of the JSON, from a file's first eight bytes. */
export function readHeaderLength(path: string, first: Uint8Array, fileBytes: number): number {
  if (first.byteLength < LENGTH_BYTES)
    throw new InputError(
      `${path}: not a safetensors file: it has ${fileBytes} bytes, fewer than the ${LENGTH_BYTES} of ` +
        'the header length',
    )
  const length = new DataView(first.buffer, first.byteOffset, LENGTH_BYTES).getBigUint64(0, true)
  if (new TextDecoder().decode(first) === LFS_POINTER)
    throw new InputError(`${path}: is a Git LFS pointer; fetch the file with \`git lfs pull\` or download it`)
  if (length > MAX_HEADER_BYTES)
    throw new InputError(
      `${path}: not a safetensors file: its header would have ${length} bytes, more than the maximum ` +
        `of ${MAX_HEADER_BYTES}`,
    )
  if (LENGTH_BYTES + Number(length) > fileBytes)
    throw new InputError(
      `${path}: truncated: the header ends at byte ${LENGTH_BYTES + Number(length)}, but the file ` +
        `has ${fileBytes}; download it again`,
    )
  return Number(length)
}

/** Checks the JSON of a header against the file's size. */
export function parseHeader(path: string, json: Uint8Array, fileBytes: number): SafetensorsHeader {
  const header = parseJson(path, json)
  const dataStart = LENGTH_BYTES + json.byteLength
  const tensors = new Map<string, TensorEntry>()
  const metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(header)) {
    if (name !== '__metadata__') tensors.set(name, parseEntry(path, name, value, dataStart))
    else if (isRecord(value) && Object.values(value).every(text => typeof text === 'string'))
      Object.assign(metadata, value)
    else throw new InputError(`${path}: __metadata__ must be an object of strings`)
  }
  checkLayout(path, tensors, dataStart, fileBytes)
  return { metadata, tensors }
}

function parseJson(path: string, json: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json))
    if (isRecord(value)) return value
  } catch (error) {
    throw new InputError(`${path}: not a safetensors file: its header is not JSON`, { cause: error })
  }
  throw new InputError(`${path}: not a safetensors file: its header is not a JSON object`)
}

function parseEntry(path: string, name: string, value: unknown, dataStart: number): TensorEntry {
  const refuse = (why: string): never => {
    throw new InputError(`${path}: tensor ${JSON.stringify(name)}: ${why}`)
  }
  if (!isRecord(value)) return refuse('its entry is not an object')
  const { dtype, shape, data_offsets: offsets } = value
  if (typeof dtype !== 'string' || !Object.hasOwn(SAFETENSORS_BITS, dtype))
    return refuse(`unknown dtype ${JSON.stringify(dtype)}; known: ${SAFETENSORS_DTYPES.join(', ')}`)
  if (!Array.isArray(shape) || !shape.every(isCount))
    return refuse(`shape must be a list of sizes, got ${JSON.stringify(shape)}`)
  if (!Array.isArray(offsets) || offsets.length !== 2)
    return refuse(`data_offsets must be two positions, got ${JSON.stringify(offsets)}`)
  const [begin, end] = offsets as unknown[]
  if (!isCount(begin) || !isCount(end) || begin > end)
    return refuse(`data_offsets must be two positions in order, got ${JSON.stringify(offsets)}`)
  const entry = {
    name,
    dtype: dtype as SafetensorsDtype,
    shape,
    start: dataStart + begin,
    end: dataStart + end,
  }
  const wanted = byteLengthOf(entry.dtype, shape)
  if (!Number.isSafeInteger(wanted))
    return refuse(`(${shape.join(', ')}) of ${dtype} is not a whole number of bytes`)
  if (end - begin !== wanted)
    return refuse(
      `(${shape.join(', ')}) of ${dtype} takes ${wanted} bytes, but data_offsets span ${end - begin}`,
    )
  return entry
}

/** Bytes of a tensor. */
export function byteLengthOf(dtype: SafetensorsDtype, shape: readonly number[]): number {
  return (shape.reduce((product, size) => product * size, 1) * SAFETENSORS_BITS[dtype]) / 8
}

/** The format allows neither overlaps nor gaps nor bytes after the last tensor. */
function checkLayout(
  path: string,
  tensors: Map<string, TensorEntry>,
  dataStart: number,
  fileBytes: number,
): void {
  const ordered = [...tensors.values()].toSorted((a, b) => a.start - b.start || a.end - b.end)
  let position = dataStart
  let before = 'the header'
  for (const { name, start, end } of ordered) {
    if (start < position)
      throw new InputError(
        `${path}: tensor ${JSON.stringify(name)} starts at byte ${start} and overlaps ${before}, which ` +
          `ends at ${position}`,
      )
    if (start > position)
      throw new InputError(
        `${path}: ${start - position} bytes before tensor ${JSON.stringify(name)} do not belong to a tensor`,
      )
    position = end
    before = `tensor ${JSON.stringify(name)}`
    if (end > fileBytes)
      throw new InputError(
        `${path}: truncated: tensor ${JSON.stringify(name)} ends at byte ${end}, but the file has ` +
          `${fileBytes}; download it again`,
      )
  }
  if (position !== fileBytes)
    throw new InputError(`${path}: ${fileBytes - position} bytes after ${before} do not belong to a tensor`)
}
