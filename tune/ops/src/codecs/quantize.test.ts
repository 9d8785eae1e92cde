import { expect, test } from 'vitest'
import { byteLength, partsOf, type Dtype } from '../dtypes.ts'
import { dequantize } from './dequantize.ts'
import { quantize } from './quantize.ts'
import { decodeMinifloat } from './minifloat.ts'
import { NF4_TABLE, encodeNf4 } from './nf4.ts'
import { uniform } from './philox.ts'

const noise = (count: number, seed = 1) =>
  Float32Array.from({ length: count }, (_, i) => 2 * uniform({ seed, step: 0, op: 0 }, i) - 1)
const floatPart = (buffer: Uint8Array, dtype: Dtype, shape: number[], name: string) => {
  const { offset = 0, bytes = 0 } = partsOf(dtype, shape).find(part => part.name === name) ?? {}
  return new Float32Array(buffer.slice(offset, offset + bytes).buffer)
}

test('fp8 tiles: one scale per tile, with the largest value exact, including partial tiles', () => {
  const shape = [130, 200]
  const values = noise(26000)
  values[0] = 9
  values[199] = -3
  const buffer = quantize(values, 'fp8_tiles', shape)
  expect(Array.from(floatPart(buffer, 'fp8_tiles', shape, 'scales').slice(0, 2))).toEqual([
    Math.fround(9 / 448),
    Math.fround(3 / 448),
  ])
  const back = dequantize(buffer, 'fp8_tiles', shape)
  expect(back[0]).toBeCloseTo(9, 6)
  expect(back[199]).toBeCloseTo(-3, 6)
  // Half a step of three mantissa bits, or half of the smallest step of the tile.
  for (let i = 0; i < values.length; i++) {
    const size = Math.abs(values[i] ?? 0)
    expect(Math.abs((back[i] ?? 0) - (values[i] ?? 0))).toBeLessThanOrEqual(
      Math.max(size / 16, (9 / 448) * 2 ** -10) * 1.0001,
    )
  }
})

test('nvfp4: block scales are E4M3 relative to the largest block, whose largest value is exact', () => {
  const values = Float32Array.from({ length: 32 }, (_, i) => (i < 16 ? 0.01 * (i + 1) : 6 * (i - 15)))
  const buffer = quantize(values, 'nvfp4', [2, 16])
  expect(floatPart(buffer, 'nvfp4', [2, 16], 'tensor_scale')[0]).toBe(Math.fround(96 / 2688))
  expect(decodeMinifloat('e4m3', buffer[partsOf('nvfp4', [2, 16])[1]!.offset + 1] ?? 0)).toBe(448)
  const back = dequantize(buffer, 'nvfp4', [2, 16])
  expect(back[31]).toBeCloseTo(96, 4)
  expect(back[15]! / 0.16).toBeCloseTo(1, 1)
})

test('mxfp4: the scale is a power of two and codes are exact multiples of it', () => {
  const values = Float32Array.from(
    { length: 32 },
    (_, i) => [0, 0.5, 1, 1.5, 2, 3, 4, 6, -6, -0.5][i % 10]! * 8,
  )
  expect(Array.from(dequantize(quantize(values, 'mxfp4', [1, 32]), 'mxfp4', [1, 32]))).toEqual(
    Array.from(values),
  )
})

test('nf4: table entries times a block maximum survive, except for the rounding of the 8-bit scale', () => {
  const values = Float32Array.from({ length: 128 }, (_, i) => NF4_TABLE[i % 16]! * (i < 64 ? 2 : 0.5))
  const back = dequantize(quantize(values, 'nf4', [1, 128]), 'nf4', [1, 128])
  for (let i = 0; i < 128; i++) expect(Math.abs((back[i] ?? 0) - (values[i] ?? 0))).toBeLessThan(0.02)
})

test('nf4: a value halfway between two entries takes the lower one', () => {
  expect(encodeNf4((NF4_TABLE[14]! + 1) / 2)).toBe(14)
  expect(NF4_TABLE.map(encodeNf4)).toEqual(Float32Array.from({ length: 16 }, (_, i) => i))
})

test.each(['bf16', 'fp8_tiles', 'nvfp4', 'mxfp4', 'nf4'] as const)(
  '%s: a matrix of zeros stays zero',
  dtype => {
    expect(
      Math.max(...dequantize(quantize(new Float32Array(256), dtype, [4, 64]), dtype, [4, 64]).map(Math.abs)),
    ).toBe(0)
  },
)

test('rejects a buffer of the wrong length with the expected and actual sizes', () => {
  expect(byteLength('nvfp4', [2, 16])).toBe(132)
  expect(() => dequantize(new Uint8Array(100), 'nvfp4', [2, 16])).toThrow(
    '[dequantize] nvfp4 (2, 16) takes 132 bytes, got 100',
  )
  expect(() => quantize(new Float32Array(3), 'f32', [2, 2])).toThrow('[quantize] (2, 2) has 4 values, got 3')
})
