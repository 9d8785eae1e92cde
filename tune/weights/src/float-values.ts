/**
 * Converts stored bytes to numbers, for dtypes with one float per element. Files are little-endian, and so is
 * every supported machine.
 */
import { decodeBf16, decodeMinifloat, encodeBf16 } from '@cairn-tune/ops'
import type { SafetensorsDtype } from './safetensors-header.ts'

export const FLOAT_DTYPES = [
  'F32',
  'BF16',
  'F16',
  'F8_E4M3',
  'F8_E5M2',
  'F64',
] as const satisfies readonly SafetensorsDtype[]
export type FloatDtype = (typeof FLOAT_DTYPES)[number]

/** A view needs an aligned start; bytes of a mapped file may not have one. */
const aligned = (bytes: Uint8Array, to: number) => (bytes.byteOffset % to === 0 ? bytes : bytes.slice())

const codeTable = (name: 'e4m3' | 'e5m2') =>
  Float32Array.from({ length: 256 }, (_, code) => decodeMinifloat(name, code))
const tables = { F8_E4M3: codeTable('e4m3'), F8_E5M2: codeTable('e5m2') }

/**
 * TypedArray.from goes through an iterator: several times slower, and an embedding has 150 million elements.
 */
function mapInto<T extends Float32Array | Uint16Array>(
  target: T,
  source: Float32Array | Uint16Array | Uint8Array,
  map: (value: number) => number,
): T {
  for (let i = 0; i < target.length; i++) target[i] = map(source[i] ?? 0)
  return target
}

/** A tensor's bytes as f32. */
export function decodeFloats(dtype: FloatDtype, stored: Uint8Array): Float32Array {
  switch (dtype) {
    case 'F32': {
      const bytes = aligned(stored, 4)
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
    }
    case 'F64': {
      const bytes = aligned(stored, 8)
      return new Float32Array(new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8))
    }
    case 'F16': {
      const bytes = aligned(stored, 2)
      return new Float32Array(new Float16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2))
    }
    case 'BF16': {
      const bytes = aligned(stored, 2)
      const codes = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2)
      return mapInto(new Float32Array(codes.length), codes, decodeBf16)
    }
    case 'F8_E4M3':
    case 'F8_E5M2':
      return mapInto(new Float32Array(stored.length), stored, code => tables[dtype][code] ?? NaN)
  }
}

/** Exponents of all ones are infinities and NaN. Checks two numbers per word, because weights are many. */
function findInWords(stored: Uint8Array, exponents: readonly number[]): number | undefined {
  const bytes = aligned(stored, 4)
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4))
  const [low = 0, high = low] = exponents
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? 0
    if ((word & low) === low || (word & high) === high) return i
  }
  return undefined
}

/** Index of the first number that is not finite. Undefined if all are. */
export function findNotFinite(dtype: FloatDtype, stored: Uint8Array): number | undefined {
  if (dtype === 'F32') return findInWords(stored, [0x7f80_0000])
  // A bf16 word covers two numbers. The last one of an odd count is in no word.
  const pairs = Math.floor(stored.byteLength / 4)
  const from = dtype === 'BF16' ? 2 * (findInWords(stored, [0x7f80, 0x7f80_0000]) ?? pairs) : 0
  const at = decodeFloats(dtype, stored.subarray(2 * from)).findIndex(value => !Number.isFinite(value))
  return at < 0 ? undefined : from + at
}

/** f32 as a tensor's bytes. */
export function encodeFloats(dtype: 'F32' | 'BF16' | 'F16', values: Float32Array): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  return new Uint8Array(
    dtype === 'BF16'
      ? mapInto(new Uint16Array(values.length), values, encodeBf16).buffer
      : new Float16Array(values).buffer,
  )
}
