/** The metadata of a GGUF file: typed values by key. Arrays are decoded on demand. */
import { InputError } from '../errors.ts'
import { createByteReader, type ByteReader } from './byte-reader.ts'

type Scalar = number | bigint | boolean | string
type GgufArray = { kind: string; length: number; read: () => Scalar[] }
export type GgufValue = { kind: string; value: Scalar } | GgufArray

type Kind = { name: string; bytes: number; read: (r: ByteReader) => Scalar }

/** By number in the file. A text takes at least its length. */
const KINDS: readonly Kind[] = [
  { name: 'uint8', bytes: 1, read: r => r.u8() },
  { name: 'int8', bytes: 1, read: r => r.i8() },
  { name: 'uint16', bytes: 2, read: r => r.u16() },
  { name: 'int16', bytes: 2, read: r => r.i16() },
  { name: 'uint32', bytes: 4, read: r => r.u32() },
  { name: 'int32', bytes: 4, read: r => r.i32() },
  { name: 'float32', bytes: 4, read: r => r.f32() },
  { name: 'bool', bytes: 1, read: r => r.u8() !== 0 },
  { name: 'string', bytes: 8, read: r => r.text() },
  { name: 'array', bytes: 12, read: () => '' },
  { name: 'uint64', bytes: 8, read: r => r.u64() },
  { name: 'int64', bytes: 8, read: r => r.i64() },
  { name: 'float64', bytes: 8, read: r => r.f64() },
]
/** The number of a kind in a file. */
export const kindNumber = (name: string): number => KINDS.findIndex(kind => kind.name === name)

function readKind(r: ByteReader): Kind {
  const id = r.u32()
  return KINDS[id] ?? r.fail(`unknown value type ${id}, expected 0 to ${KINDS.length - 1}`)
}

/** Reads a value and advances past it. */
export function readValue(path: string, bytes: Uint8Array, r: ByteReader, key: string): GgufValue {
  const kind = readKind(r)
  if (kind.name !== 'array') return { kind: kind.name, value: kind.read(r) }
  const element = readKind(r)
  if (element.name === 'array') r.fail('is an array of arrays, which is not supported')
  const length = r.count('an array of', element.bytes)
  const start = r.position
  if (element.name === 'string') for (let i = 0; i < length; i++) r.skipText()
  else r.take(length * element.bytes)
  const own = bytes.subarray(start, r.position)
  return {
    kind: element.name,
    length,
    read() {
      const inside = createByteReader(path, own)
      inside.about(key)
      return Array.from({ length }, () => element.read(inside))
    },
  }
}

/** Metadata by key. A value of another kind than requested is rejected, with its key. */
export type Metadata = {
  has: (key: string) => boolean
  keys: () => string[]
  /** Whether the value of a key means "absent": 0, false, empty text or "none". */
  isNeutral: (key: string) => boolean
  text: (key: string) => string | undefined
  flag: (key: string) => boolean | undefined
  /** Any whole number, of any width. */
  whole: (key: string) => number | undefined
  number: (key: string) => number | undefined
  texts: (key: string) => string[] | undefined
  numbers: (key: string) => number[] | undefined
  /** The value of a required key. */
  needs: <T>(key: string, value: T | undefined) => T
}

export function createMetadata(path: string, values: ReadonlyMap<string, GgufValue>): Metadata {
  const refuse = (key: string, wanted: string, found: GgufValue): never => {
    const got = 'length' in found ? `an array of ${found.kind}` : `${found.kind} ${String(found.value)}`
    throw new InputError(`${path}: ${key} must be ${wanted}, got ${got}`)
  }
  function scalar<T extends Scalar>(
    key: string,
    wanted: string,
    is: (value: Scalar) => T | undefined,
  ): T | undefined {
    const found = values.get(key)
    if (!found) return undefined
    return ('length' in found ? undefined : is(found.value)) ?? refuse(key, wanted, found)
  }
  function list<T>(key: string, wanted: string, is: (value: Scalar) => T | undefined): T[] | undefined {
    const found = values.get(key)
    if (!found) return undefined
    if (!('length' in found)) return refuse(key, wanted, found)
    return found.read().map(value => is(value) ?? refuse(key, wanted, found))
  }
  const asText = (value: Scalar) => (typeof value === 'string' ? value : undefined)
  const asNumber = (value: Scalar) =>
    typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined
  const asWhole = (value: Scalar) => {
    const number = asNumber(value)
    return Number.isSafeInteger(number) ? number : undefined
  }
  return {
    has: key => values.has(key),
    keys: () => [...values.keys()],
    isNeutral: key => {
      const found = values.get(key)
      if (!found || 'length' in found) return false
      return [0, 0n, false, '', 'none'].includes(found.value)
    },
    text: key => scalar(key, 'a text', asText),
    flag: key => scalar(key, 'true or false', value => (typeof value === 'boolean' ? value : undefined)),
    whole: key => scalar(key, 'a whole number', asWhole),
    number: key => scalar(key, 'a number', asNumber),
    texts: key => list(key, 'a list of texts', asText),
    numbers: key => list(key, 'a list of numbers', asNumber),
    needs(key, value) {
      if (value === undefined) throw new InputError(`${path}: has no ${key}`)
      return value
    },
  }
}
