import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  decodeFloats,
  encodeFloats,
  openCheckpoint,
  writeAdapter,
  writeCheckpoint,
  type TensorToWrite,
} from '@cairn-tune/weights'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mergeAdapter } from './merge.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-merge-'))
})
afterAll(() => rm(directory, { recursive: true }))

const linear = 'model.layers.0.mlp.up_proj'
const weight = Float32Array.of(1, 2, 3, 4, 5, 6)
async function makeModel(extra: TensorToWrite[] = [], maxShardBytes?: number): Promise<string> {
  const base = await mkdtemp(join(directory, 'base-'))
  await writeCheckpoint(
    base,
    [
      { name: `${linear}.weight`, dtype: 'BF16', shape: [2, 3], bytes: encodeFloats('BF16', weight) },
      {
        name: 'model.norm.weight',
        dtype: 'F32',
        shape: [3],
        bytes: encodeFloats('F32', Float32Array.of(1, 1, 1)),
      },
      ...extra,
    ],
    maxShardBytes,
  )
  await writeFile(join(base, 'config.json'), '{"model_type":"qwen3"}')
  await writeFile(join(base, 'README.md'), 'not copied')
  return base
}
async function makeAdapter(name = linear, columns = 3): Promise<string> {
  const path = await mkdtemp(join(directory, 'adapter-'))
  await writeAdapter(
    path,
    { baseModel: 'b', lora_rank: 1, lora_alpha: 2, lora_dropout: 0, lora_target_modules: ['up_proj'] },
    [
      {
        name: `${name}.lora_A.weight`,
        shape: [1, columns],
        values: Float32Array.from({ length: columns }, (_, i) => i + 1),
      },
      { name: `${name}.lora_B.weight`, shape: [2, 1], values: Float32Array.of(0.5, -1) },
    ],
  )
  return path
}
let outputs = 0
const newOutput = () => join(directory, `out-${outputs++}`)

test.each([undefined, 12])(
  'adds alpha / rank times B·A to the adapted weights and copies the others (shards of %s bytes)',
  async maxShardBytes => {
    const output = newOutput()
    await mergeAdapter({ base: await makeModel([], maxShardBytes), adapter: await makeAdapter(), output })
    const merged = await openCheckpoint(output)
    expect(merged.tensors.get(`${linear}.weight`)).toMatchObject({ dtype: 'BF16', shape: [2, 3] })
    // 2·(0.5, -1)ᵀ·(1, 2, 3)
    expect([...decodeFloats('BF16', await merged.read(`${linear}.weight`))]).toEqual([
      1 + 1,
      2 + 2,
      3 + 3,
      4 - 2,
      5 - 4,
      6 - 6,
    ])
    expect([...decodeFloats('F32', await merged.read('model.norm.weight'))]).toEqual([1, 1, 1])
    await merged.close()
    expect(await readFile(join(output, 'config.json'), 'utf8')).toBe('{"model_type":"qwen3"}')
    expect(await readdir(output)).not.toContain('README.md')
  },
)

test('rejects an adapter of another model, a quantised base and a directory in use', async () => {
  const base = await makeModel()
  const output = newOutput()
  await expect(
    mergeAdapter({ base, adapter: await makeAdapter('model.layers.9.mlp.up_proj'), output }),
  ).rejects.toThrow(
    'has no tensor "model.layers.9.mlp.up_proj.weight", which the adapter changes; the adapter belongs to ' +
      'another model',
  )
  await expect(mergeAdapter({ base, adapter: await makeAdapter(linear, 4), output })).rejects.toThrow(
    'is (2, 3), but the adapter is for (2, 4); it belongs to another model',
  )
  const quantised = await makeModel([
    { name: `${linear}.weight_scale_inv`, dtype: 'F32', shape: [1, 1], bytes: new Uint8Array(4) },
  ])
  await expect(mergeAdapter({ base: quantised, adapter: await makeAdapter(), output })).rejects.toThrow(
    'is quantised; merge into the original model instead',
  )
  await expect(readdir(output)).rejects.toThrow('ENOENT')
  await expect(mergeAdapter({ base, adapter: await makeAdapter(), output: base })).rejects.toThrow(
    'not empty; write the merged model to a new directory',
  )
})
