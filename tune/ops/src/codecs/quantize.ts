/**
 * Block quantisers: a matrix in f32 → the buffer of a quantised dtype (dtypes.ts describes its parts). Every
 * product and quotient is rounded to f32 where native code rounds it, so that both give the same bytes.
 */
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
import { decodeE8m0, decodeMinifloat, encodeBf16, encodeE8m0, encodeMinifloat } from './minifloat.ts'
import { encodeNearest, encodeNf4 } from './nf4.ts'
import { floats, part, partViews, putNibble, stackOf, vnniIndex, type PartViews } from './parts.ts'

const f = Math.fround
const E4M3_MAX = 448
const E2M1_MAX = 6
/** Smallest nonzero block scale of NVFP4. */
const E4M3_MIN = 2 ** -9

const maxAbs = (values: Float32Array, start: number, end: number) => {
  let amax = 0
  for (let i = start; i < end; i++) amax = Math.max(amax, Math.abs(values[i] ?? 0))
  return amax
}

/** Bytes of a matrix, or of a stack of them, in a dtype. */
export function quantize(values: Float32Array, dtype: Dtype, shape: Shape): Uint8Array {
  if (values.length !== countElements(shape))
    throw new Error(
      `[quantize] (${shape.join(', ')}) has ${countElements(shape)} values, got ${values.length}`,
    )
  const buffer = new Uint8Array(byteLength(dtype, shape))
  if (isStack(dtype, shape)) {
    const [matrix, size, stride] = stackOf(dtype, shape)
    for (let i = 0; i * size < values.length; i++)
      buffer.set(quantize(values.subarray(i * size, (i + 1) * size), dtype, matrix), i * stride)
    return buffer
  }
  quantizers[dtype](values, partViews(buffer, dtype, shape), shape)
  return buffer
}

const quantizers: Record<Dtype, (values: Float32Array, parts: PartViews, shape: Shape) => void> = {
  f32: (values, parts) => floats(part(parts, 'values')).set(values),
  i32: (values, parts) => new Int32Array(part(parts, 'values').buffer).set(values),
  bf16: (values, parts) => new Uint16Array(part(parts, 'values').buffer).set(values.map(encodeBf16)),
  fp8_tiles: quantizeFp8Tiles,
  fp8_tensor: quantizeFp8Tensor,
  nvfp4: quantizeNvfp4,
  mxfp4: quantizeMxfp4,
  nf4: quantizeNf4,
  dynamic8: (values, parts) => quantizeDynamic(values, parts, true),
  dynamic8_unsigned: (values, parts) => quantizeDynamic(values, parts, false),
  bf16_vnni: quantizeVnni,
}

function quantizeVnni(values: Float32Array, parts: PartViews, [, K = 0]: Shape): void {
  const codes = new Uint16Array(part(parts, 'values').buffer)
  for (let i = 0; i < values.length; i++)
    codes[vnniIndex(Math.floor(i / K), i % K, K)] = encodeBf16(values[i] ?? 0)
}

function quantizeFp8Tiles(values: Float32Array, parts: PartViews, [n = 0, k = 0]: Shape): void {
  const codes = part(parts, 'codes')
  const scales = floats(part(parts, 'scales'))
  for (let row = 0; row < n; row += FP8_TILE) {
    for (let column = 0; column < k; column += FP8_TILE) {
      const rowEnd = Math.min(row + FP8_TILE, n)
      const columnEnd = Math.min(column + FP8_TILE, k)
      let amax = 0
      for (let i = row; i < rowEnd; i++)
        amax = Math.max(amax, maxAbs(values, i * k + column, i * k + columnEnd))
      scales[(row / FP8_TILE) * Math.ceil(k / FP8_TILE) + column / FP8_TILE] = f(amax / E4M3_MAX)
      const inverse = f(E4M3_MAX / Math.max(amax, f(1e-10)))
      for (let i = row; i < rowEnd; i++) {
        for (let j = column; j < columnEnd; j++)
          codes[i * k + j] = encodeMinifloat('e4m3', f((values[i * k + j] ?? 0) * inverse))
      }
    }
  }
}

function quantizeFp8Tensor(values: Float32Array, parts: PartViews): void {
  const amax = maxAbs(values, 0, values.length)
  const inverse = f(E4M3_MAX / Math.max(amax, f(1e-10)))
  floats(part(parts, 'scale'))[0] = f(amax / E4M3_MAX)
  part(parts, 'codes').set(values.map(value => encodeMinifloat('e4m3', f(value * inverse))))
}

function quantizeNvfp4(values: Float32Array, parts: PartViews): void {
  const codes = part(parts, 'codes')
  const scales = part(parts, 'scales')
  const amax = maxAbs(values, 0, values.length)
  floats(part(parts, 'tensor_scale'))[0] = f(amax / (E4M3_MAX * E2M1_MAX))
  if (amax === 0) return
  const encode = f((E4M3_MAX * E2M1_MAX) / amax)
  for (let start = 0; start < values.length; start += NVFP4_BLOCK) {
    const wanted = f(f(maxAbs(values, start, start + NVFP4_BLOCK) / E2M1_MAX) * encode)
    const code = encodeMinifloat('e4m3', Math.max(wanted, E4M3_MIN))
    scales[start / NVFP4_BLOCK] = code
    const factor = f(encode / decodeMinifloat('e4m3', code))
    for (let i = start; i < start + NVFP4_BLOCK; i++)
      putNibble(codes, i, encodeMinifloat('e2m1', f((values[i] ?? 0) * factor)), 'low')
  }
}

/**
 * The rule of the microscaling formats specification: the scale is the largest power of two not above amax,
 * divided by that of the largest code (4).
 */
function quantizeMxfp4(values: Float32Array, parts: PartViews): void {
  for (let start = 0; start < values.length; start += MXFP4_BLOCK) {
    const code = encodeE8m0(maxAbs(values, start, start + MXFP4_BLOCK) / 4)
    part(parts, 'scales')[start / MXFP4_BLOCK] = code
    const scale = decodeE8m0(code)
    for (let i = start; i < start + MXFP4_BLOCK; i++)
      putNibble(part(parts, 'codes'), i, encodeMinifloat('e2m1', (values[i] ?? 0) / scale), 'low')
  }
}

/** Block scales are stored minus their mean, as codes of the dynamic map times one scale per group. */
function quantizeNf4(values: Float32Array, parts: PartViews): void {
  const blocks = values.length / NF4_BLOCK
  const scales = Float32Array.from({ length: blocks }, (_, block) =>
    maxAbs(values, block * NF4_BLOCK, (block + 1) * NF4_BLOCK),
  )
  for (let i = 0; i < values.length; i++) {
    const scale = scales[Math.floor(i / NF4_BLOCK)] ?? 0
    putNibble(part(parts, 'codes'), i, encodeNf4(scale === 0 ? 0 : f((values[i] ?? 0) / scale)), 'high')
  }
  const offset = f(scales.reduce((sum, scale) => sum + scale, 0) / blocks)
  const map = dynamicMap()
  floats(part(parts, 'offset'))[0] = offset
  floats(part(parts, 'scale_map')).set(map)
  const centred = scales.map(scale => scale - offset)
  for (let start = 0; start < blocks; start += NF4_GROUP) {
    const end = Math.min(start + NF4_GROUP, blocks)
    const amax = maxAbs(centred, start, end)
    floats(part(parts, 'group_scales'))[start / NF4_GROUP] = amax
    for (let i = start; i < end; i++)
      part(parts, 'scale_codes')[i] = encodeNearest(map, amax === 0 ? 0 : f((centred[i] ?? 0) / amax))
  }
}

/** Blocks of the flat tensor, each divided by its largest magnitude. */
function quantizeDynamic(values: Float32Array, parts: PartViews, isSigned: boolean): void {
  const map = dynamicMap(isSigned)
  for (let start = 0; start < values.length; start += DYNAMIC_BLOCK) {
    const end = Math.min(start + DYNAMIC_BLOCK, values.length)
    const amax = maxAbs(values, start, end)
    floats(part(parts, 'scales'))[start / DYNAMIC_BLOCK] = amax
    for (let i = start; i < end; i++)
      part(parts, 'codes')[i] = encodeNearest(map, amax === 0 ? 0 : f((values[i] ?? 0) / amax))
  }
}
