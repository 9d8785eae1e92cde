/** Directories of weights as people have them: which file is read, and names that other tools write. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkBase, plainDtype } from './base-weights.ts'
import { openCheckpoint } from './open-checkpoint.ts'
import { encodeFloats } from './float-values.ts'
import { writeSafetensors } from './safetensors-writer.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-checkpoint-'))
afterAll(() => rmSync(directory, { recursive: true }))

const shape = [2, 4]
async function write(name: string, tensors: Readonly<Record<string, number>>): Promise<string> {
  const inside = join(directory, name)
  mkdirSync(inside, { recursive: true })
  await writeSafetensors(
    join(inside, 'model.safetensors'),
    Object.entries(tensors).map(([tensor, value]) => ({
      name: tensor,
      dtype: 'F32' as const,
      shape,
      bytes: encodeFloats('F32', new Float32Array(8).fill(value)),
    })),
  )
  return inside
}
const first = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0, true)

test('reads model.safetensors beside an index whose shards are missing, as transformers does', async () => {
  const inside = await write('both', { 'model.embed_tokens.weight': 3 })
  writeFileSync(
    join(inside, 'model.safetensors.index.json'),
    JSON.stringify({ weight_map: { 'model.embed_tokens.weight': 'model-00001-of-00002.safetensors' } }),
  )
  const checkpoint = await openCheckpoint(inside)
  expect(first(await checkpoint.read('model.embed_tokens.weight'))).toBe(3)
  await checkpoint.close()
})

test('reads a model that was saved without its head by its full names', async () => {
  const checkpoint = await openCheckpoint(
    await write('bare', { 'embed_tokens.weight': 1, 'layers.0.mlp.up_proj.weight': 2, 'norm.weight': 3 }),
  )
  const name = 'model.layers.0.mlp.up_proj.weight'
  expect([...checkpoint.tensors.keys()].toSorted()).toEqual([
    'model.embed_tokens.weight',
    name,
    'model.norm.weight',
  ])
  expect(first(await checkpoint.read(name))).toBe(2)
  expect((await checkpoint.readRows(name, 1, 2)).byteLength).toBe(16)
  checkBase(checkpoint, [{ name, dtype: 'f32', shape }])
  expect(() => plainDtype(checkpoint, 'lm_head.weight')).toThrow(
    'has no tensor "lm_head.weight", which config.json requires; the model was saved without its head',
  )
  await checkpoint.close()
})

test('names a prefix before the names, and experts in an unsupported format', async () => {
  const checkpoint = await openCheckpoint(
    await write('odd', { '_orig_mod.model.norm.weight': 1, 'model.layers.0.mlp.experts.gate_up_proj': 1 }),
  )
  expect(() => plainDtype(checkpoint, 'model.norm.weight')).toThrow(
    'it has "_orig_mod.model.norm.weight": save the model again without "_orig_mod."',
  )
  for (const name of ['experts.gate_up_proj', 'experts.0.gate_up_proj'])
    expect(() => plainDtype(checkpoint, `model.layers.0.mlp.${name}.weight`)).toThrow(
      '"model.layers.0.mlp.experts.gate_up_proj" holds all experts in F32, which is not ' +
        'supported: experts of gpt-oss are only read in MXFP4',
    )
  await checkpoint.close()
})
