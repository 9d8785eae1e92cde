/** The buffer of a quantised matrix: its parts by name, its nibbles, and the locations of its numbers. */
import { VNNI_ROWS, countElements, matrixStride, partsOf, type Dtype, type Shape } from '../dtypes.ts'

export type PartViews = Record<string, Uint8Array>

export function partViews(buffer: Uint8Array, dtype: Dtype, shape: Shape): PartViews {
  return Object.fromEntries(
    partsOf(dtype, shape).map(({ name, offset, bytes }) => [name, buffer.subarray(offset, offset + bytes)]),
  )
}

export const part = (parts: PartViews, name: string) => parts[name] ?? new Uint8Array()
export const floats = (bytes: Uint8Array) =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)

/** Two nibbles per byte. `first` is the half of the even element. */
export function putNibble(bytes: Uint8Array, index: number, code: number, first: 'low' | 'high'): void {
  const isLow = (index % 2 === 0) === (first === 'low')
  bytes[index >> 1] = (bytes[index >> 1] ?? 0) | (isLow ? code : code << 4)
}

export function getNibble(bytes: Uint8Array, index: number, first: 'low' | 'high'): number {
  const byte = bytes[index >> 1] ?? 0
  return (index % 2 === 0) === (first === 'low') ? byte & 15 : byte >> 4
}

/** Index of number k of row r in a bf16_vnni matrix with K columns. */
export const vnniIndex = (r: number, k: number, K: number) =>
  (Math.floor(r / VNNI_ROWS) * (K / 2) + Math.floor(k / 2)) * 2 * VNNI_ROWS + (r % VNNI_ROWS) * 2 + (k % 2)

/** Layout of a stack: shape and element count of one matrix, and the bytes between matrices. */
export const stackOf = (dtype: Dtype, shape: Shape) =>
  [shape.slice(1), countElements(shape.slice(1)), matrixStride(dtype, shape)] as const
