/**
 * Experts in MXFP4. gpt-oss is published with codes and scales in two tensors, where elements 2i and 2i + 1
 * of a block share byte i; a GGUF file has a scale, then codes, where elements j and j + 16 share byte j. The
 * conversion changes no code and no scale.
 */
import { MXFP4_BLOCK } from '@cairn-tune/ops'

const CODES = MXFP4_BLOCK / 2
/** A block of a GGUF file: its scale and its codes. */
const BLOCK = 1 + CODES
const at = (bytes: Uint8Array, i: number) => bytes[i] ?? 0

/** Converts published codes and scales to blocks of a file. */
export function blocksOf(codes: Uint8Array, scales: Uint8Array): Uint8Array {
  const blocks = new Uint8Array(scales.length * BLOCK)
  for (let b = 0; b < scales.length; b++) {
    const [from, to] = [b * CODES, b * BLOCK]
    blocks[to] = at(scales, b)
    for (let i = 0; i < CODES / 2; i++) {
      const [first, second] = [at(codes, from + i), at(codes, from + CODES / 2 + i)]
      blocks[to + 1 + 2 * i] = (first & 15) | ((second & 15) << 4)
      blocks[to + 2 + 2 * i] = (first >> 4) | (second & 0xf0)
    }
  }
  return blocks
}

/** The scales of blocks. */
export const scalesOf = (blocks: Uint8Array): Uint8Array =>
  Uint8Array.from({ length: blocks.length / BLOCK }, (_, b) => at(blocks, b * BLOCK))

/** The codes of blocks, in the published order. */
export function codesOf(blocks: Uint8Array): Uint8Array {
  const count = blocks.length / BLOCK
  const codes = new Uint8Array(count * CODES)
  for (let b = 0; b < count; b++) {
    const [from, to] = [b * BLOCK + 1, b * CODES]
    for (let i = 0; i < CODES / 2; i++) {
      const [first, second] = [at(blocks, from + 2 * i), at(blocks, from + 2 * i + 1)]
      codes[to + i] = (first & 15) | ((second & 15) << 4)
      codes[to + CODES / 2 + i] = (first >> 4) | (second & 0xf0)
    }
  }
  return codes
}

/** The even or the odd rows. */
export function everySecondRow(bytes: Uint8Array, rows: number, which: 'even' | 'odd'): Uint8Array {
  const size = bytes.byteLength / rows
  const half = new Uint8Array(bytes.byteLength / 2)
  for (let row = 0; row < rows / 2; row++) {
    const from = (2 * row + (which === 'even' ? 0 : 1)) * size
    half.set(bytes.subarray(from, from + size), row * size)
  }
  return half
}

/** Interleaves the rows of two tensors. */
export function alternate(even: Uint8Array, odd: Uint8Array, rows: number): Uint8Array {
  const size = even.byteLength / rows
  const both = new Uint8Array(2 * even.byteLength)
  for (let row = 0; row < rows; row++) {
    both.set(even.subarray(row * size, (row + 1) * size), 2 * row * size)
    both.set(odd.subarray(row * size, (row + 1) * size), (2 * row + 1) * size)
  }
  return both
}
