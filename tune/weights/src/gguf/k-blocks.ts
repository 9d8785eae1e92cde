/**
 * Blocks of 256 elements with scales for parts of them. As with the small blocks every step before the
 * rounding to f32 is exact in a double: f16 × 6 bits × 6 bits take 23, Q6_K's products 25 and are rounded
 * once, as in llama.cpp.
 */
import { halfAt } from './half.ts'

const at8 = (bytes: Uint8Array, i: number) => bytes[i] ?? 0

/**
 * Scale and minimum s of eight, 6 bits each in 12 bytes. The high bits of the last four are stored with the
 * first four.
 */
const scaleOf = (b: Uint8Array, at: number, s: number) =>
  s < 4 ? at8(b, at + s) & 63 : (at8(b, at + s + 4) & 15) | ((at8(b, at + s - 4) >> 6) << 4)
const minimumOf = (b: Uint8Array, at: number, s: number) =>
  s < 4 ? at8(b, at + s + 4) & 63 : (at8(b, at + s + 4) >> 4) | ((at8(b, at + s) >> 6) << 4)

/**
 * f16 scales of scales and minima, then scales and minima, then 128 bytes: a byte has an element of a part
 * and of the next.
 */
export function decodeQ4K(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const [d, dmin] = [halfAt(bytes, at), halfAt(bytes, at + 2)]
  for (let part = 0; part < 8; part++) {
    const scale = d * scaleOf(bytes, at + 4, part)
    const minimum = dmin * minimumOf(bytes, at + 4, part)
    const [codes, shift] = [at + 16 + 32 * (part >> 1), 4 * (part & 1)]
    for (let j = 0; j < 32; j++)
      y[to + 32 * part + j] = scale * ((at8(bytes, codes + j) >> shift) & 15) - minimum
  }
}

/** Q4_K plus 32 bytes before the codes. Bit p of each is the fifth bit of part p. */
export function decodeQ5K(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const [d, dmin] = [halfAt(bytes, at), halfAt(bytes, at + 2)]
  for (let part = 0; part < 8; part++) {
    const scale = d * scaleOf(bytes, at + 4, part)
    const minimum = dmin * minimumOf(bytes, at + 4, part)
    const [codes, shift] = [at + 48 + 32 * (part >> 1), 4 * (part & 1)]
    for (let j = 0; j < 32; j++) {
      const high = (at8(bytes, at + 16 + j) >> part) & 1
      y[to + 32 * part + j] = scale * (((at8(bytes, codes + j) >> shift) & 15) | (high << 4)) - minimum
    }
  }
}

/**
 * 128 bytes of low halves, 64 with two high bits each, 16 signed scales, f16 scale of scales. Codes are
 * biased by 32.
 */
export function decodeQ6K(bytes: Uint8Array, at: number, y: Float32Array, to: number): void {
  const d = halfAt(bytes, at + 208)
  for (let row = 0; row < 8; row++) {
    const [half, quarter] = [row >> 2, row & 3]
    const [low, high] = [at + 64 * half + 32 * (quarter & 1), at + 128 + 32 * half]
    for (let j = 0; j < 32; j++) {
      const scale = d * ((at8(bytes, at + 192 + 2 * row + (j >> 4)) << 24) >> 24)
      const code =
        ((at8(bytes, low + j) >> (4 * (quarter >> 1))) & 15) |
        (((at8(bytes, high + j) >> (2 * quarter)) & 3) << 4)
      y[to + 32 * row + j] = scale * (code - 32)
    }
  }
}
