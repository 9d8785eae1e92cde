/** Experts of gpt-oss as stored in files: bits are copied, and incomplete experts are rejected by name. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { dequantize, quantize } from '@cairn-tune/ops'
import { openCheckpoint } from './open-checkpoint.ts'
import { mxfp4Tensors } from './mxfp4-experts.ts'
import { layoutOf, readWeight } from './quantized.ts'
import { writeCheckpoint } from './safetensors-writer.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-mxfp4-'))
afterAll(() => rmSync(directory, { recursive: true }))

const name = 'model.layers.0.mlp.experts.down_proj.weight'
const shape = [3, 5, 64]
const values = Float32Array.from({ length: 3 * 5 * 64 }, (_, i) => Math.sin(i) * 2 ** (i % 7))
const buffer = quantize(values, 'mxfp4', shape)

async function write(
  folder: string,
  change: (tensor: { shape: number[]; bytes: Uint8Array }, i: number) => object,
): Promise<void> {
  mkdirSync(join(directory, folder))
  const tensors = mxfp4Tensors(name, shape, buffer).map((tensor, i) => {
    const { bytes, ...rest } = { ...tensor, ...change(tensor, i) }
    return { ...rest, dtype: 'U8' as const, bytes: () => bytes }
  })
  await writeCheckpoint(join(directory, folder), tensors)
}

test('reads blocks and scales of all experts into one stack with the same values', async () => {
  await write('whole', () => ({}))
  const checkpoint = await openCheckpoint(join(directory, 'whole'))
  expect([...checkpoint.tensors.keys()].toSorted()).toEqual([
    'model.layers.0.mlp.experts.down_proj_blocks',
    'model.layers.0.mlp.experts.down_proj_scales',
  ])
  expect(layoutOf(checkpoint, name)).toBe('mxfp4')
  const read = await readWeight(checkpoint, name)
  expect(read.shape).toEqual(shape)
  expect(Buffer.compare(read.buffer, buffer)).toBe(0)
  expect(dequantize(read.buffer, 'mxfp4', shape)).toEqual(dequantize(buffer, 'mxfp4', shape))
  await checkpoint.close()
})

test('rejects scales of another number of experts by name', async () => {
  await write('fewer', ({ bytes, shape: whole }, i) =>
    i === 0 ? {} : { shape: [2, ...whole.slice(1)], bytes: bytes.subarray(0, (bytes.byteLength / 3) * 2) },
  )
  const checkpoint = await openCheckpoint(join(directory, 'fewer'))
  await expect(readWeight(checkpoint, name)).rejects.toThrow(
    /"model\.layers\.0\.mlp\.experts\.down_proj_blocks" must be .*, got \(3, 5, 2, 16\) and \(2, 5, 2\)/,
  )
  await checkpoint.close()
})
