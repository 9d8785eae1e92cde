import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  openSafetensors,
  readAdapter,
  writeAdapter,
  writeSafetensors,
  type AdapterTensor,
} from '@cairn-tune/weights'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { initAdapter } from './adapter-init.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-adapter-'))
})
afterAll(() => rm(directory, { recursive: true }))

const linear = 'model.layers.3.self_attn.q_proj'
const pair = (rank = 4): AdapterTensor[] => [
  {
    name: `${linear}.lora_A.weight`,
    shape: [rank, 6],
    values: Float32Array.from({ length: rank * 6 }, (_, i) => i / 8),
  },
  {
    name: `${linear}.lora_B.weight`,
    shape: [10, rank],
    values: Float32Array.from({ length: 10 * rank }, (_, i) => -i / 16),
  },
]
const config = {
  baseModel: 'Qwen/Qwen3-0.6B',
  lora_rank: 4,
  lora_alpha: 8,
  lora_dropout: 0,
  lora_target_modules: ['q_proj'],
}

async function written(change: (json: Record<string, unknown>) => object = json => json): Promise<string> {
  const inside = await mkdtemp(join(directory, 'a-'))
  await writeAdapter(inside, config, pair())
  const path = join(inside, 'adapter_config.json')
  await writeFile(
    path,
    JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>)),
  )
  return inside
}

test('writes the files, names and keys of PEFT', async () => {
  const inside = join(directory, 'out', 'adapter')
  await writeAdapter(inside, config, pair())
  expect((await readdir(inside)).toSorted()).toEqual(['adapter_config.json', 'adapter_model.safetensors'])
  const file = await openSafetensors(join(inside, 'adapter_model.safetensors'))
  expect([...file.tensors].map(([name, { shape, dtype }]) => [name, dtype, shape])).toEqual([
    ['base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight', 'F32', [4, 6]],
    ['base_model.model.model.layers.3.self_attn.q_proj.lora_B.weight', 'F32', [10, 4]],
  ])
  expect(file.metadata).toEqual({ format: 'pt' })
  await file.close()
  expect(JSON.parse(await readFile(join(inside, 'adapter_config.json'), 'utf8'))).toMatchObject({
    base_model_name_or_path: 'Qwen/Qwen3-0.6B',
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: 4,
    lora_alpha: 8,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    use_rslora: false,
    target_modules: ['q_proj'],
  })
})

test('reads back the written adapter, exactly in f32 and in bf16 if representable', async () => {
  const inside = await written()
  const { scaleOf, ...rest } = await readAdapter(inside)
  expect(rest).toEqual({
    ...config,
    use_rslora: false,
    use_dora: false,
    tensors: pair(),
    magnitudes: [],
    changes: [],
  })
  expect(scaleOf(linear)).toBe(2)
  await writeAdapter(inside, config, pair(), 'BF16')
  expect((await readAdapter(inside)).tensors).toEqual(pair())
})

test('rank-stabilised adapters scale by alpha over the square root of the rank', async () => {
  const { scaleOf } = await readAdapter(await written(json => ({ ...json, use_rslora: true })))
  expect(scaleOf(linear)).toBe(4)
})

test('rank and alpha patterns use the first matching name, as in PEFT', async () => {
  const patterns = {
    rank_pattern: { 'layers.3.self_attn.q_proj': 4, q_proj: 9, up_proj: 6 },
    alpha_pattern: { proj: 1, q_proj: 12 },
  }
  const { scaleOf } = await readAdapter(await written(json => ({ ...json, r: 7, ...patterns })))
  expect([linear, 'model.layers.3.mlp.up_proj', 'model.layers.3.mlp.down_proj'].map(scaleOf)).toEqual([
    12 / 4,
    8 / 6,
    8 / 7,
  ])
})

test('writes DoRA magnitudes with PEFT’s names, reads them back, and names a missing one', async () => {
  const inside = await mkdtemp(join(directory, 'dora-'))
  const name = `${linear}.lora_magnitude_vector`
  const magnitude = { name, shape: [10] as const, values: Float32Array.from({ length: 10 }, (_, i) => i + 1) }
  await writeAdapter(inside, { ...config, use_dora: true }, [...pair(), magnitude])
  const file = await openSafetensors(join(inside, 'adapter_model.safetensors'))
  expect([...file.tensors.keys()]).toContain(`base_model.model.${name}`)
  await file.close()
  expect((await readAdapter(inside)).magnitudes).toEqual([magnitude])
  await writeAdapter(inside, { ...config, use_dora: true }, pair())
  await expect(readAdapter(inside)).rejects.toThrow(`has no "base_model.model.${name}"`)
  await writeAdapter(inside, config, [...pair(), magnitude])
  await expect(readAdapter(inside)).rejects.toThrow('is not a matrix of a LoRA adapter')
})

test.each([
  ['another kind', { peft_type: 'IA3' }],
  ['trained biases', { bias: 'all' }],
  ['a pattern with an unsupported expression', { rank_pattern: { 'q_proj(?=x)': 8 } }],
  ['such a pattern of alphas', { alpha_pattern: { '(?!k)q_proj': 16 } }],
])('rejects %s and names the key', async (_, over) => {
  await expect(readAdapter(await written(json => ({ ...json, ...over })))).rejects.toThrow(
    Object.keys(over)[0],
  )
})

test('rejects missing, foreign and mismatched matrices', async () => {
  const inside = await written(json => ({ ...json, r: 8 }))
  await expect(readAdapter(inside)).rejects.toThrow('lora_A.weight" is (4, 6), expected rank 8')
  const weights = join(inside, 'adapter_model.safetensors')
  const bytes = new Uint8Array(4 * 6 * 4)
  await writeAdapter(inside, config, pair().slice(0, 1))
  await expect(readAdapter(inside)).rejects.toThrow(`has no "base_model.model.${linear}.lora_B.weight"`)
  await writeSafetensors(weights, [
    { name: 'base_model.model.model.norm.weight', dtype: 'F32', shape: [4, 6], bytes },
  ])
  await expect(readAdapter(inside)).rejects.toThrow(
    '"base_model.model.model.norm.weight" is not a matrix of a LoRA adapter of a linear layer',
  )
  await writeSafetensors(weights, [
    { name: `base_model.model.${linear}.lora_A.weight`, dtype: 'I32', shape: [4, 6], bytes },
  ])
  await expect(readAdapter(inside)).rejects.toThrow('must have dtype F32 or BF16')
  await writeSafetensors(weights, [])
  await expect(readAdapter(inside)).rejects.toThrow('has no tensors')
  await expect(readAdapter(join(directory, 'none'))).rejects.toThrow(
    'an adapter is a directory with adapter_config.json and adapter_model.safetensors',
  )
})

test('initialises B with zeros and A uniformly within 1/√inputs, seeded by name', () => {
  const matrices = [0, 1].flatMap(layer => [
    { name: `model.layers.${layer}.mlp.up_proj.lora_A.weight`, shape: [16, 1024] as const },
    { name: `model.layers.${layer}.mlp.up_proj.lora_B.weight`, shape: [64, 16] as const },
  ])
  const [a0, b0, a1] = initAdapter(7, matrices)
  expect(b0!.values.every(value => value === 0)).toBe(true)
  expect(a0!.values).not.toEqual(a1!.values)
  const bound = 1 / 32
  expect(a0!.values.every(value => Math.abs(value) <= bound)).toBe(true)
  const mean = a0!.values.reduce((sum, value) => sum + value, 0) / a0!.values.length
  const variance = a0!.values.reduce((sum, value) => sum + value ** 2, 0) / a0!.values.length
  // 16384 draws: the mean within 4 standard errors of 0, the variance within 3 % of a third of the bound's
  // square.
  expect(Math.abs(mean)).toBeLessThan((4 * bound) / Math.sqrt(3 * 16384))
  expect(Math.abs(variance / (bound ** 2 / 3) - 1)).toBeLessThan(0.03)
  expect(initAdapter(7, matrices.slice(2))[0]).toEqual(a1)
  expect(initAdapter(8, matrices)[0]!.values).not.toEqual(a0!.values)
})
