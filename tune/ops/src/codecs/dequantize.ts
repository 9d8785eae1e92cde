/** The buffer of a quantised dtype → f32, rounded as native code rounds. */
import {
  DYNAMIC_BLOCK,
  FP8_TILE,
  MXFP4_BLOCK,
  NF4_BLOCK,
  NF4_GROUP,
  NVFP4_BLOCK,
  byteLength,
  countElements,
  isStack,
  type Dtype,
  type Shape,
} from '../dtypes.ts'
import { dynamicMap } from './dynamic-map.ts'
import { decodeBf16, decodeE8m0, decodeMinifloat } from './minifloat.ts'
import { NF4_TABLE } from './nf4.ts'
import { floats, getNibble, part, partViews, stackOf, vnniIndex, type PartViews } from './parts.ts'

const f = Math.fround

/** The numbers in a buffer, as f32. */
export function dequantize(buffer: Uint8Array, dtype: Dtype, shape: Shape): Float32Array {
  if (buffer.byteLength < byteLength(dtype, shape)) {
    throw new Error(
      `[dequantize] ${dtype} (${shape.join(', ')}) takes ${byteLength(dtype, shape)} bytes, got ` +
        `${buffer.byteLength}`,
    )
  }
  if (isStack(dtype, shape)) {
    const [matrix, size, stride] = stackOf(dtype, shape)
    const values = new Float32Array(countElements(shape))
    for (let i = 0; i * size < values.length; i++)
      values.set(dequantize(buffer.subarray(i * stride), dtype, matrix), i * size)
    return values
  }
  const aligned = buffer.byteOffset % 4 === 0 ? buffer : buffer.slice()
  const decode = decoder(partViews(aligned, dtype, shape), dtype, shape)
  const values = new Float32Array(countElements(shape))
  // Float32Array.from goes through an iterator: ten times slower, and weights have millions of numbers.
  for (let i = 0; i < values.length; i++) values[i] = decode(i)
  return values
}

/** A function from element index (row-major) to its number. */
function decoder(parts: PartViews, dtype: Dtype, [, k = 1]: Shape): (index: number) => number {
  const codes = part(parts, 'codes')
  const values = part(parts, 'values')
  const scales = part(parts, 'scales')
  switch (dtype) {
    case 'f32': {
      const numbers = floats(values)
      return i => numbers[i] ?? 0
    }
    case 'i32': {
      const numbers = new Int32Array(values.buffer, values.byteOffset)
      return i => numbers[i] ?? 0
    }
    case 'bf16':
      return i => decodeBf16((values[2 * i] ?? 0) | ((values[2 * i + 1] ?? 0) << 8))
    case 'bf16_vnni': {
      const at = (i: number) => 2 * vnniIndex(Math.floor(i / k), i % k, k)
      return i => decodeBf16((values[at(i)] ?? 0) | ((values[at(i) + 1] ?? 0) << 8))
    }
    case 'fp8_tiles': {
      const tiles = Math.ceil(k / FP8_TILE)
      const ofTiles = floats(scales)
      const scale = (i: number) =>
        ofTiles[Math.floor(Math.floor(i / k) / FP8_TILE) * tiles + Math.floor((i % k) / FP8_TILE)] ?? 0
      return i => f(decodeMinifloat('e4m3', codes[i] ?? 0) * scale(i))
    }
    case 'fp8_tensor': {
      const scale = floats(part(parts, 'scale'))[0] ?? 0
      return i => f(decodeMinifloat('e4m3', codes[i] ?? 0) * scale)
    }
    case 'nvfp4': {
      const tensorScale = floats(part(parts, 'tensor_scale'))[0] ?? 0
      const block = (i: number) => decodeMinifloat('e4m3', scales[Math.floor(i / NVFP4_BLOCK)] ?? 0)
      return i => f(decodeMinifloat('e2m1', getNibble(codes, i, 'low')) * block(i) * tensorScale)
    }
    case 'dynamic8':
    case 'dynamic8_unsigned': {
      const map = dynamicMap(dtype === 'dynamic8')
      const ofBlocks = floats(scales)
      return i => f((map[codes[i] ?? 0] ?? 0) * (ofBlocks[Math.floor(i / DYNAMIC_BLOCK)] ?? 0))
    }
    case 'mxfp4':
      return i =>
        f(
          decodeMinifloat('e2m1', getNibble(codes, i, 'low')) *
            decodeE8m0(scales[Math.floor(i / MXFP4_BLOCK)] ?? 0),
        )
    case 'nf4': {
      const map = floats(part(parts, 'scale_map'))
      const offset = floats(part(parts, 'offset'))[0] ?? 0
      const groups = floats(part(parts, 'group_scales'))
      const scale = (block: number) =>
        f(
          f(
            (map[part(parts, 'scale_codes')[block] ?? 0] ?? 0) * (groups[Math.floor(block / NF4_GROUP)] ?? 0),
          ) + offset,
        )
      return i => f((NF4_TABLE[getNibble(codes, i, 'high')] ?? 0) * scale(Math.floor(i / NF4_BLOCK)))
    }
  }
}
