/**
 * Rounding of a matmul's left operand by fp8_hybrid and nvfp4. Quotients and products are f32 where kernels
 * compute them in f32.
 */
import {
  NVFP4_BLOCK,
  decodeMinifloat,
  encodeMinifloat,
  uniform,
  type MinifloatName,
  type Rounding,
} from '@cairn-tune/ops'
import { at, fill, sizes, type Matrix } from './matrix.ts'

const f = Math.fround
const round = (format: MinifloatName, value: number, rounding: Rounding = 'nearest') =>
  decodeMinifloat(format, encodeMinifloat(format, value, rounding))

/** One scale: numbers times most / amax are rounded to the format, then divided by the same. */
export function roundByTensor(x: Matrix, format: 'e4m3' | 'e5m2', amax: number): Matrix {
  const scale = f((format === 'e4m3' ? 448 : 57_344) / Math.max(amax, f(1e-10)))
  return { shape: x.shape, values: x.values.map(value => round(format, f(value * scale)) * f(1 / scale)) }
}

/**
 * Two levels: blocks of 16 of a row with an E4M3 scale under one f32 scale. `random` is the key of stochastic
 * rounding.
 */
export function roundByBlocks(
  x: Matrix,
  amax: number,
  random?: { seed: number; step: number; stream: number },
): Matrix {
  const [rows, columns] = sizes(x)
  const amaxOrTiny = Math.max(amax, f(1e-30))
  const encode = f(2688 / amaxOrTiny)
  const values = new Float64Array(x.values.length)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column += NVFP4_BLOCK) {
      const start = row * columns + column
      const end = start + Math.min(NVFP4_BLOCK, columns - column)
      const block = x.values.subarray(start, end)
      const largest = block.reduce((sum, value) => Math.max(sum, Math.abs(value)), 0)
      const scale = round('e4m3', Math.max(f(f(largest / 6) * encode), 2 ** -9))
      const factor = f(encode / scale)
      for (let i = start; i < end; i++) {
        const rounding = random
          ? { uniform: uniform({ seed: random.seed, step: random.step, op: random.stream }, i) }
          : 'nearest'
        values[i] = round('e2m1', f(at(x.values, i) * factor), rounding) * scale * f(amaxOrTiny / 2688)
      }
    }
  }
  return { shape: x.shape, values }
}

/** Seed and step from `random`: (seed, low word first, step). */
export function keyOf({ values }: Matrix, stream: number): { seed: number; step: number; stream: number } {
  const [low = 0, high = 0, step = 0] = fill(3, i => at(values, i) >>> 0)
  return { seed: high * 2 ** 32 + low, step, stream }
}
