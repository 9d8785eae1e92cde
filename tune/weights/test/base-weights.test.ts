/**
 * Weights of a file as the engine gets them: mapped if they have the wanted format, else converted, or
 * rejected if that is impossible.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import { dequantize, quantize, type Dtype } from '@cairn-tune/ops'
import {
  encodeFloats,
  findNotFinite,
  loadBase,
  openMappedCheckpoint,
  writeCheckpoint,
  type TensorToWrite,
} from '@cairn-tune/weights'

const engine = await createEngine({ threads: 2 })
const directory = mkdtempSync(join(tmpdir(), 'cairn-weights-'))
afterAll(() => {
  engine.close()
  rmSync(directory, { recursive: true })
})

const shape = [32, 64]
// Small whole numbers over 64 are the same in every float format here.
const values = Float32Array.from({ length: 32 * 64 }, (_, i) => ((i * 37) % 127) / 64 - 1)
const plain = (name: string, dtype: 'BF16' | 'F16' | 'F32'): TensorToWrite => ({
  name,
  dtype,
  shape,
  bytes: encodeFloats(dtype, values),
})
await writeCheckpoint(directory, [
  plain('b', 'BF16'),
  plain('h', 'F16'),
  plain('f', 'F32'),
  { name: 'q', dtype: 'F8_E4M3', shape, bytes: new Uint8Array(32 * 64) },
  { name: 'q_scale_inv', dtype: 'F32', shape: [1, 1], bytes: new Uint8Array(4) },
])
const checkpoint = await openMappedCheckpoint(directory)
async function load(name: string, dtype: Dtype): Promise<Uint8Array> {
  const buffer = (await loadBase(engine, checkpoint, [{ name, dtype, shape }])).get(name)
  return buffer ? await engine.read(buffer) : new Uint8Array()
}

test.each([
  ['b', 'bf16'],
  ['b', 'f32'],
  ['h', 'f32'],
  ['h', 'bf16'],
  ['f', 'f32'],
  ['f', 'bf16'],
] as const)('%s as %s has the values of the file', async (name, dtype) => {
  expect(dequantize(await load(name, dtype), dtype, shape)).toEqual(values)
})

test.each(['fp8_tiles', 'fp8_tensor', 'nvfp4', 'nf4'] as const)(
  '%s has the codes of its definition from every float format',
  async dtype => {
    const expected = quantize(values, dtype, shape)
    for (const name of ['b', 'h', 'f']) expect(await load(name, dtype)).toEqual(expected)
  },
)

test('a weight in the wanted format is a view of the file, and writing to it does not change the file', async () => {
  const before = readFileSync(join(directory, 'model.safetensors'))
  const mapped = await load('b', 'bf16')
  expect(mapped.buffer.byteLength).toBe(before.byteLength)
  mapped.fill(7)
  expect(readFileSync(join(directory, 'model.safetensors')).equals(before)).toBe(true)
})

test('keeps a quantised weight unchanged and rejects requantising it', async () => {
  expect((await load('q', 'fp8_tiles')).byteLength).toBeGreaterThan(32 * 64)
  await expect(load('q', 'nf4')).rejects.toThrow(/is quantised as fp8_tiles and cannot be requantised to nf4/)
})

test('names a missing weight or one with another shape', async () => {
  await expect(loadBase(engine, checkpoint, [{ name: 'b', dtype: 'bf16', shape: [64, 32] }])).rejects.toThrow(
    /"b" must have shape \(64, 32\), got \(32, 64\)/,
  )
  await expect(load('none', 'bf16')).rejects.toThrow(/has no tensor "none"/)
})

test.each(['BF16', 'F16', 'F32'] as const)('finds a non-finite number at any position in %s', dtype => {
  for (const count of [1, 2, 7, 8, 33]) {
    const sound = Float32Array.from({ length: count }, (_, i) => (i % 2 === 0 ? -65_504 : 6e-5))
    expect(findNotFinite(dtype, encodeFloats(dtype, sound))).toBeUndefined()
    for (let at = 0; at < count; at++) {
      for (const value of [NaN, Infinity, -Infinity]) {
        const bytes = encodeFloats(dtype, sound.with(at, value))
        // The tensors of a file may start at any byte.
        const shifted = new Uint8Array(bytes.byteLength + 1)
        shifted.set(bytes, 1)
        expect(findNotFinite(dtype, shifted.subarray(1))).toBe(at)
      }
    }
  }
})

/** Promise T2.5: No quantiser turns a NaN into a number. */
test.each(['fp8_tiles', 'fp8_tensor', 'nvfp4', 'mxfp4', 'nf4'] as const)(
  'rejects a weight with a NaN by name before converting it to %s',
  async dtype => {
    const bad = mkdtempSync(join(directory, 'bad-'))
    await writeCheckpoint(bad, [
      { name: 'w', dtype: 'BF16', shape, bytes: encodeFloats('BF16', values.with(3 * 64 + 5, NaN)) },
    ])
    const damaged = await openMappedCheckpoint(bad)
    await expect(loadBase(engine, damaged, [{ name: 'w', dtype, shape }])).rejects.toThrow(
      /tensor "w" contains a non-finite number in row 3, column 5; the file is damaged/,
    )
    expect((await loadBase(engine, damaged, [{ name: 'w', dtype: 'bf16', shape }])).has('w')).toBe(true)
    await damaged.close()
  },
)
