import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dequantize, partsOf, quantize, type Dtype } from '@cairn-tune/ops'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Checkpoint } from './checkpoint.ts'
import { openCheckpoint } from './open-checkpoint.ts'
import { decodeFloats, encodeFloats } from './float-values.ts'
import { readWeight } from './quantized.ts'
import { writeSafetensors, type TensorToWrite } from './safetensors-writer.ts'
import { byteLengthOf } from './safetensors-header.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-quantized-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function openGolden(name: string): Promise<Checkpoint> {
  const inside = await mkdtemp(join(directory, `${name}-`))
  await copyFile(
    fileURLToPath(new URL(`../test/reference/${name}.safetensors`, import.meta.url)),
    join(inside, 'model.safetensors'),
  )
  return openCheckpoint(inside)
}

async function openWritten(tensors: readonly TensorToWrite[]): Promise<Checkpoint> {
  const inside = await mkdtemp(join(directory, 'written-'))
  await writeSafetensors(join(inside, 'model.safetensors'), tensors)
  return openCheckpoint(inside)
}

test.each([
  ['fp8', 'fp8_tiles', [130, 132]],
  ['nvfp4', 'nvfp4', [130, 64]],
  ['nf4', 'nf4', [130, 128]],
] as const)(
  '%s: reads the values of the layout’s reference implementation, bit for bit',
  async (name, dtype, shape) => {
    const model = await openGolden(name)
    const weight = await readWeight(model, 'layer.weight')
    expect(weight).toMatchObject({ dtype, shape })
    const values = dequantize(weight.buffer, weight.dtype, weight.shape)
    const rows = new BigInt64Array((await model.read('rows')).buffer)
    const expected = decodeFloats('F32', await model.read('expected'))
    const columns = shape[1]
    expect(rows.length).toBe(5)
    rows.forEach((row, i) => {
      const got = values.subarray(Number(row) * columns, (Number(row) + 1) * columns)
      expect(got, `row ${row}`).toEqual(expected.subarray(i * columns, (i + 1) * columns))
    })
    await model.close()
  },
)

/** Our own quantiser's buffer as the tensors of each layout on disk. */
function partBytes(
  dtype: Dtype,
  shape: readonly number[],
  values: Float32Array,
): { buffer: Uint8Array; part: (name: string) => Uint8Array } {
  const buffer = quantize(values, dtype, shape)
  const parts = partsOf(dtype, shape)
  return {
    buffer,
    part: name => {
      const { offset, bytes } = parts.find(part => part.name === name) ?? { offset: 0, bytes: 0 }
      return buffer.subarray(offset, offset + bytes)
    },
  }
}

const shape = [160, 192]
const values = Float32Array.from({ length: 160 * 192 }, (_, i) => Math.fround(Math.sin(i * 1.7) * 0.05))
const bnbState = (over: object = {}) => {
  const { part } = partBytes('nf4', shape, values)
  const offset = decodeFloats('F32', part('offset'))[0]
  const json = JSON.stringify({
    quant_type: 'nf4',
    blocksize: 64,
    dtype: 'bfloat16',
    shape,
    nested_blocksize: 256,
    nested_dtype: 'float32',
    nested_offset: offset,
    ...over,
  })
  return new TextEncoder().encode(json)
}

function asLayout(
  dtype: 'fp8_tiles' | 'nvfp4' | 'nf4',
  state = bnbState(),
): { buffer: Uint8Array; tensors: TensorToWrite[] } {
  const { buffer, part } = partBytes(dtype, shape, values)
  const tensors: Record<typeof dtype, () => TensorToWrite[]> = {
    fp8_tiles: () => [
      { name: 'w', dtype: 'F8_E4M3', shape, bytes: part('codes') },
      { name: 'w_scale_inv', dtype: 'F32', shape: [2, 2], bytes: part('scales') },
    ],
    nvfp4: () => [
      { name: 'w', dtype: 'U8', shape: [160, 96], bytes: part('codes') },
      { name: 'w_scale', dtype: 'F8_E4M3', shape: [160, 12], bytes: part('scales') },
      { name: 'w_scale_2', dtype: 'F32', shape: [], bytes: part('tensor_scale') },
      { name: 'input_scale', dtype: 'F32', shape: [], bytes: encodeFloats('F32', Float32Array.of(1)) },
    ],
    nf4: () => [
      { name: 'w', dtype: 'U8', shape: [160 * 96, 1], bytes: part('codes') },
      { name: 'w.absmax', dtype: 'U8', shape: [480], bytes: part('scale_codes') },
      { name: 'w.quant_map', dtype: 'F32', shape: [16], bytes: nf4Table },
      { name: 'w.nested_absmax', dtype: 'F32', shape: [2], bytes: part('group_scales') },
      { name: 'w.nested_quant_map', dtype: 'F32', shape: [256], bytes: part('scale_map') },
      { name: 'w.quant_state.bitsandbytes__nf4', dtype: 'U8', shape: [state.length], bytes: state },
    ],
  }
  return { buffer, tensors: tensors[dtype]() }
}
let nf4Table: Uint8Array
beforeAll(async () => {
  const model = await openGolden('nf4')
  nf4Table = await model.read('layer.weight.quant_map')
  await model.close()
})

test.each(['fp8_tiles', 'nvfp4', 'nf4'] as const)(
  '%s: a buffer of our own quantiser survives the round trip',
  async dtype => {
    const { buffer, tensors } = asLayout(dtype)
    const model = await openWritten(tensors)
    expect((await readWeight(model, 'w')).buffer).toEqual(buffer)
    await model.close()
  },
)

test('reads plain bf16 and f32 unchanged and f16 as f32', async () => {
  const model = await openWritten([
    { name: 'b', dtype: 'BF16', shape: [2], bytes: encodeFloats('BF16', Float32Array.of(1, -2)) },
    { name: 'h', dtype: 'F16', shape: [2], bytes: encodeFloats('F16', Float32Array.of(1, 65504)) },
    { name: 'i', dtype: 'I32', shape: [1], bytes: new Uint8Array(4) },
    { name: 'u', dtype: 'U8', shape: [1], bytes: new Uint8Array(1) },
  ])
  expect(await readWeight(model, 'b')).toEqual({
    dtype: 'bf16',
    shape: [2],
    buffer: encodeFloats('BF16', Float32Array.of(1, -2)),
  })
  expect(await readWeight(model, 'h')).toEqual({
    dtype: 'f32',
    shape: [2],
    buffer: encodeFloats('F32', Float32Array.of(1, 65504)),
  })
  await expect(readWeight(model, 'i')).rejects.toThrow(
    'tensor "i" must have dtype BF16 or F32 or F16, got I32',
  )
  await expect(readWeight(model, 'u')).rejects.toThrow(
    '"u" is U8 without known scales; supported layouts: fine-grained FP8',
  )
  await expect(readWeight(model, 'x')).rejects.toThrow('has no tensor "x"')
  await model.close()
})

type Layout = 'fp8_tiles' | 'nvfp4' | 'nf4'
const without = (name: string) => (tensors: TensorToWrite[]) => tensors.filter(tensor => tensor.name !== name)
const reshaped = (name: string, dtype: TensorToWrite['dtype'], to: number[]) => (tensors: TensorToWrite[]) =>
  tensors.map(tensor =>
    tensor.name === name
      ? { name, dtype, shape: to, bytes: new Uint8Array(byteLengthOf(dtype, to)).fill(0x80) }
      : tensor,
  )

test.each([
  [
    'scales of another tiling',
    'fp8_tiles',
    reshaped('w_scale_inv', 'F32', [3, 2]),
    /tensor "w_scale_inv" must have shape \(2, 2\), got \(3, 2\)/,
  ],
  [
    'codes of another dtype',
    'fp8_tiles',
    reshaped('w', 'F8_E5M2', [160, 192]),
    /tensor "w" must have dtype F8_E4M3, got F8_E5M2/,
  ],
  ['block scales missing', 'nvfp4', without('w_scale'), /has no tensor "w_scale"/],
  [
    'negative block scales',
    'nvfp4',
    reshaped('w_scale', 'F8_E4M3', [160, 12]),
    /"w_scale" has a negative scale/,
  ],
  [
    'one tensor scale a row',
    'nvfp4',
    reshaped('w_scale_2', 'F32', [160]),
    /"w_scale_2" must be one number, got 160/,
  ],
  [
    'columns that no block fits',
    'nvfp4',
    reshaped('w', 'U8', [160, 97]),
    /has 194 columns, which are not a multiple of the block of 16/,
  ],
  ['no state', 'nf4', without('w.quant_state.bitsandbytes__nf4'), /the file is incomplete/],
  ['another table', 'nf4', reshaped('w.quant_map', 'F32', [16]), /"w.quant_map" is not the NF4 table/],
  [
    'scales that are not codes',
    'nf4',
    reshaped('w.absmax', 'F32', [480]),
    /tensor "w.absmax" must have dtype U8, got F32/,
  ],
] as const satisfies readonly (readonly [
  string,
  Layout,
  (tensors: TensorToWrite[]) => TensorToWrite[],
  RegExp,
])[])('rejects %s (%s)', async (_, layout, change, message) => {
  const model = await openWritten(change(asLayout(layout).tensors))
  await expect(readWeight(model, 'w')).rejects.toThrow(message)
  await model.close()
})

test.each([
  ['blocks of 128', { blocksize: 128 }],
  ['fp4 codes', { quant_type: 'fp4' }],
  ['no double quantisation', { nested_blocksize: undefined }],
])('rejects bitsandbytes weights with %s and names the supported layout', async (_, over) => {
  const model = await openWritten(asLayout('nf4', bnbState(over)).tensors)
  await expect(readWeight(model, 'w')).rejects.toThrow(
    'supported is NF4 with blocks of 64 and double quantisation in groups of 256',
  )
  await model.close()
})
