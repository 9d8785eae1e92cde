/**
 * Block quantisers: a matrix in f32 ↔ the buffer of a quantised dtype (its parts are in dtypes.ts). Every
 * product and quotient is rounded to f32 where native code rounds it, so that both give the same bytes.
 */
import {
  DYNAMIC_BLOCK,
  FP8_TILE,
  MXFP4_BLOCK,
  NF4_BLOCK,
  NF4_GROUP,
  NVFP4_BLOCK,
  VNNI_ROWS,
  byteLength,
  countElements,
  isStack,
  matrixStride,
  partsOf,
  type Dtype,
  type Shape,
} from '../dtypes.ts'
import { dynamicMap } from './dynamic-map.ts'
import {
  decodeBf16,
  decodeE8m0,
  decodeMinifloat,
  encodeBf16,
  encodeE8m0,
  encodeMinifloat,
} from './minifloat.ts'
import { NF4_TABLE, encodeNearest, encodeNf4 } from './nf4.ts'

const f = Math.fround
const E4M3_MAX = 448
const E2M1_MAX = 6
/** Smallest block scale of NVFP4 that is not zero. */
const E4M3_MIN = 2 ** -9

type Parts = Record<string, Uint8Array>

function partViews(buffer: Uint8Array, dtype: Dtype, shape: Shape): Parts {
  return Object.fromEntries(
    partsOf(dtype, shape).map(({ name, offset, bytes }) => [name, buffer.subarray(offset, offset + bytes)]),
  )
}

const part = (parts: Parts, name: string) => parts[name] ?? new Uint8Array()
const floats = (bytes: Uint8Array) => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
const maxAbs = (values: Float32Array, start: number, end: number) => {
  let most = 0
  for (let i = start; i < end; i++) most = Math.max(most, Math.abs(values[i] ?? 0))
  return most
}

/** Two nibbles a byte; `first` says where the even element lies. */
function putNibble(bytes: Uint8Array, index: number, code: number, first: 'low' | 'high'): void {
  const isLow = (index % 2 === 0) === (first === 'low')
  bytes[index >> 1] = (bytes[index >> 1] ?? 0) | (isLow ? code : code << 4)
}

function getNibble(bytes: Uint8Array, index: number, first: 'low' | 'high'): number {
  const byte = bytes[index >> 1] ?? 0
  return (index % 2 === 0) === (first === 'low') ? byte & 15 : byte >> 4
}

/** Of a stack: the shape of one matrix, its numbers, and bytes from one to the next. */
const stackOf = (dtype: Dtype, shape: Shape) =>
  [shape.slice(1), countElements(shape.slice(1)), matrixStride(dtype, shape)] as const

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

/** The numbers that a buffer means, in f32. */
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
  return Float32Array.from(
    { length: countElements(shape) },
    decoder(partViews(aligned, dtype, shape), dtype, shape),
  )
}

const quantizers: Record<Dtype, (values: Float32Array, parts: Parts, shape: Shape) => void> = {
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

/** Where number k of row r of K lies in a bf16_vnni matrix. */
const vnniPlace = (r: number, k: number, K: number) =>
  (Math.floor(r / VNNI_ROWS) * (K / 2) + Math.floor(k / 2)) * 2 * VNNI_ROWS + (r % VNNI_ROWS) * 2 + (k % 2)

function quantizeVnni(values: Float32Array, parts: Parts, [, K = 0]: Shape): void {
  const codes = new Uint16Array(part(parts, 'values').buffer)
  for (let i = 0; i < values.length; i++)
    codes[vnniPlace(Math.floor(i / K), i % K, K)] = encodeBf16(values[i] ?? 0)
}

function quantizeFp8Tiles(values: Float32Array, parts: Parts, [n = 0, k = 0]: Shape): void {
  const codes = part(parts, 'codes')
  const scales = floats(part(parts, 'scales'))
  for (let row = 0; row < n; row += FP8_TILE) {
    for (let column = 0; column < k; column += FP8_TILE) {
      const rowEnd = Math.min(row + FP8_TILE, n)
      const columnEnd = Math.min(column + FP8_TILE, k)
      let most = 0
      for (let i = row; i < rowEnd; i++)
        most = Math.max(most, maxAbs(values, i * k + column, i * k + columnEnd))
      scales[(row / FP8_TILE) * Math.ceil(k / FP8_TILE) + column / FP8_TILE] = f(most / E4M3_MAX)
      const inverse = f(E4M3_MAX / Math.max(most, f(1e-10)))
      for (let i = row; i < rowEnd; i++) {
        for (let j = column; j < columnEnd; j++)
          codes[i * k + j] = encodeMinifloat('e4m3', f((values[i * k + j] ?? 0) * inverse))
      }
    }
  }
}

function quantizeFp8Tensor(values: Float32Array, parts: Parts): void {
  const most = maxAbs(values, 0, values.length)
  const inverse = f(E4M3_MAX / Math.max(most, f(1e-10)))
  floats(part(parts, 'scale'))[0] = f(most / E4M3_MAX)
  part(parts, 'codes').set(values.map(value => encodeMinifloat('e4m3', f(value * inverse))))
}

function quantizeNvfp4(values: Float32Array, parts: Parts): void {
  const codes = part(parts, 'codes')
  const scales = part(parts, 'scales')
  const most = maxAbs(values, 0, values.length)
  floats(part(parts, 'tensor_scale'))[0] = f(most / (E4M3_MAX * E2M1_MAX))
  if (most === 0) return
  const encode = f((E4M3_MAX * E2M1_MAX) / most)
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
 * The published rule of microscaling formats: the scale is the largest power of two not above amax, divided
 * by that of the largest code (4).
 */
function quantizeMxfp4(values: Float32Array, parts: Parts): void {
  for (let start = 0; start < values.length; start += MXFP4_BLOCK) {
    const code = encodeE8m0(maxAbs(values, start, start + MXFP4_BLOCK) / 4)
    part(parts, 'scales')[start / MXFP4_BLOCK] = code
    const scale = decodeE8m0(code)
    for (let i = start; i < start + MXFP4_BLOCK; i++)
      putNibble(part(parts, 'codes'), i, encodeMinifloat('e2m1', (values[i] ?? 0) / scale), 'low')
  }
}

/** Block scales are stored less their mean, as codes of the dynamic map times one scale a group. */
function quantizeNf4(values: Float32Array, parts: Parts): void {
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
    const most = maxAbs(centred, start, end)
    floats(part(parts, 'group_scales'))[start / NF4_GROUP] = most
    for (let i = start; i < end; i++)
      part(parts, 'scale_codes')[i] = encodeNearest(map, most === 0 ? 0 : f((centred[i] ?? 0) / most))
  }
}

/** Blocks of the flat tensor, each divided by its largest magnitude. */
function quantizeDynamic(values: Float32Array, parts: Parts, isSigned: boolean): void {
  const map = dynamicMap(isSigned)
  for (let start = 0; start < values.length; start += DYNAMIC_BLOCK) {
    const end = Math.min(start + DYNAMIC_BLOCK, values.length)
    const most = maxAbs(values, start, end)
    floats(part(parts, 'scales'))[start / DYNAMIC_BLOCK] = most
    for (let i = start; i < end; i++)
      part(parts, 'codes')[i] = encodeNearest(map, most === 0 ? 0 : f((values[i] ?? 0) / most))
  }
}

/** A function from element index (row-major) to its number. */
function decoder(parts: Parts, dtype: Dtype, [, k = 1]: Shape): (_: unknown, index: number) => number {
  const codes = part(parts, 'codes')
  const values = part(parts, 'values')
  const scales = part(parts, 'scales')
  switch (dtype) {
    case 'f32':
      return (_, i) => floats(values)[i] ?? 0
    case 'i32':
      return (_, i) => new Int32Array(values.buffer, values.byteOffset)[i] ?? 0
    case 'bf16':
      return (_, i) => decodeBf16((values[2 * i] ?? 0) | ((values[2 * i + 1] ?? 0) << 8))
    case 'bf16_vnni': {
      const at = (i: number) => 2 * vnniPlace(Math.floor(i / k), i % k, k)
      return (_, i) => decodeBf16((values[at(i)] ?? 0) | ((values[at(i) + 1] ?? 0) << 8))
    }
    case 'fp8_tiles': {
      const tiles = Math.ceil(k / FP8_TILE)
      const scale = (i: number) =>
        floats(scales)[Math.floor(Math.floor(i / k) / FP8_TILE) * tiles + Math.floor((i % k) / FP8_TILE)] ?? 0
      return (_, i) => f(decodeMinifloat('e4m3', codes[i] ?? 0) * scale(i))
    }
    case 'fp8_tensor': {
      const scale = floats(part(parts, 'scale'))[0] ?? 0
      return (_, i) => f(decodeMinifloat('e4m3', codes[i] ?? 0) * scale)
    }
    case 'nvfp4': {
      const tensorScale = floats(part(parts, 'tensor_scale'))[0] ?? 0
      const block = (i: number) => decodeMinifloat('e4m3', scales[Math.floor(i / NVFP4_BLOCK)] ?? 0)
      return (_, i) => f(decodeMinifloat('e2m1', getNibble(codes, i, 'low')) * block(i) * tensorScale)
    }
    case 'dynamic8':
    case 'dynamic8_unsigned': {
      const map = dynamicMap(dtype === 'dynamic8')
      return (_, i) => f((map[codes[i] ?? 0] ?? 0) * (floats(scales)[Math.floor(i / DYNAMIC_BLOCK)] ?? 0))
    }
    case 'mxfp4':
      return (_, i) =>
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
      return (_, i) => f((NF4_TABLE[getNibble(codes, i, 'high')] ?? 0) * scale(Math.floor(i / NF4_BLOCK)))
    }
  }
}
