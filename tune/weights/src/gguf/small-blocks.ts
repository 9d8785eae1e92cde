/**
 * Blocks of 32 elements. Element j is the low half of a byte, element j + 16 its high half; a fifth bit is in
 * a word of 32. Numbers are rounded once, when they are written to f32: every earlier product and sum is
 * exact in a double, so they equal llama.cpp's to the last bit.
 */
import { halfAt } from './half.ts'

const HALF_BLOCK = 16

const at8 = (bytes: Uint8Array, i: number) => bytes[i] ?? 0
const word = (b: Uint8Array, i: number) =>
  at8(b, i) | (at8(b, i + 1) << 8) | (at8(b, i + 2) << 16) | (at8(b, i + 3) << 24)

/** f16 scale, 32 signed bytes. */
export function decodeQ8_0(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const d = halfAt(bytes, at)
  for (let j = 0; j < 32; j++) y[to + j] = d * ((at8(bytes, at + 2 + j) << 24) >> 24)
}

/** f16 scale, 16 bytes. Codes are biased by 8. */
export function decodeQ4_0(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const d = halfAt(bytes, at)
  for (let j = 0; j < HALF_BLOCK; j++) {
    const codes = at8(bytes, at + 2 + j)
    y[to + j] = d * ((codes & 15) - 8)
    y[to + j + HALF_BLOCK] = d * ((codes >> 4) - 8)
  }
}

/** f16 scale and minimum, 16 bytes. */
export function decodeQ4_1(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const [d, m] = [halfAt(bytes, at), halfAt(bytes, at + 2)]
  for (let j = 0; j < HALF_BLOCK; j++) {
    const codes = at8(bytes, at + 4 + j)
    y[to + j] = d * (codes & 15) + m
    y[to + j + HALF_BLOCK] = d * (codes >> 4) + m
  }
}

/** f16 scale, word of fifth bits, 16 bytes. Codes are biased by 16. */
export function decodeQ5_0(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const d = halfAt(bytes, at)
  const high = word(bytes, at + 2)
  for (let j = 0; j < HALF_BLOCK; j++) {
    const codes = at8(bytes, at + 6 + j)
    y[to + j] = d * (((codes & 15) | (((high >>> j) & 1) << 4)) - 16)
    y[to + j + HALF_BLOCK] = d * (((codes >> 4) | (((high >>> (j + HALF_BLOCK)) & 1) << 4)) - 16)
  }
}

/** f16 scale and minimum, word of fifth bits, 16 bytes. */
export function decodeQ5_1(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const [d, m] = [halfAt(bytes, at), halfAt(bytes, at + 2)]
  const high = word(bytes, at + 4)
  for (let j = 0; j < HALF_BLOCK; j++) {
    const codes = at8(bytes, at + 8 + j)
    y[to + j] = d * ((codes & 15) | (((high >>> j) & 1) << 4)) + m
    y[to + j + HALF_BLOCK] = d * ((codes >> 4) | (((high >>> (j + HALF_BLOCK)) & 1) << 4)) + m
  }
}

/** Twice the numbers of E2M1. The scale is halved to compensate. */
const E2M1_DOUBLED = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]

/** E8M0 scale, 16 bytes of E2M1 codes. Zero has no sign. */
export function decodeMxfp4(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const d = 2 ** (at8(bytes, at) - 128)
  for (let j = 0; j < HALF_BLOCK; j++) {
    const codes = at8(bytes, at + 1 + j)
    y[to + j] = d * (E2M1_DOUBLED[codes & 15] ?? 0)
    y[to + j + HALF_BLOCK] = d * (E2M1_DOUBLED[codes >> 4] ?? 0)
  }
}

/**
 * llama.cpp's quantize_row_q8_0_ref: divides by the scale before rounding the scale to f16; halves round away
 * from 0.
 */
export function encodeQ8_0(values: Float32Array): Uint8Array {
  const count = values.length / 32
  if (!Number.isInteger(count))
    throw new Error(`[Q8_0] expected a multiple of 32 numbers, got ${values.length}`)
  const bytes = new Uint8Array(count * 34)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < count; i++) {
    let amax = 0
    for (let j = 0; j < 32; j++) amax = Math.max(amax, Math.abs(values[32 * i + j] ?? 0))
    const d = Math.fround(amax / 127)
    const inverse = d === 0 ? 0 : Math.fround(1 / d)
    view.setFloat16(34 * i, d, true)
    for (let j = 0; j < 32; j++) {
      const scaled = Math.fround((values[32 * i + j] ?? 0) * inverse)
      bytes[34 * i + 2 + j] = Math.sign(scaled) * Math.floor(Math.abs(scaled) + 0.5)
    }
  }
  return bytes
}
