/** A model with experts as a GGUF file: the same model, and an adapter of its experts as stacks. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FAMILIES, readModelConfig } from '@cairn-tune/models'
import { startServer } from '@cairn-tune/serve'
import { readConfig, train, writeModelOf } from '@cairn-tune/train'
import { decodeFloats, openMappedCheckpoint, readAdapter } from '@cairn-tune/weights'
import { openGguf } from '@cairn-tune/weights/gguf/gguf-file'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportRun } from '../src/commands/export.ts'

let directory: string
const at = (name: string) => join(directory, name)
const keysOf = (over: Readonly<Record<string, unknown>> = {}) => ({
  ...FAMILIES.qwen3_moe.defaults,
  model_type: 'qwen3_moe' as const,
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  head_dim: 16,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_experts: 12,
  num_experts_per_tok: 2,
  moe_intermediate_size: 32,
  norm_topk_prob: true,
  initializer_range: 0.2,
  ...over,
})
const exportTo = (output: string, ...args: string[]) =>
  exportRun.run([...args, '--format', 'gguf', '--output', at(output)], {
    env: { HF_HUB_OFFLINE: '1' },
    out: () => undefined,
    note: () => undefined,
    terminal: undefined,
    signal: new AbortController().signal,
  })

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-gguf-experts-'))
  await writeModelOf(at('moe'), keysOf(), 1)
  await exportTo('moe.gguf', at('moe'))
})
afterAll(() => rm(directory, { recursive: true }))

test('its experts are one tensor, which is read as a matrix for each, bit for bit', async () => {
  const file = await openGguf(at('moe.gguf'))
  expect(file.tensors.get('blk.1.ffn_up_exps.weight')).toMatchObject({ type: 'BF16', shape: [12, 32, 64] })
  expect(file.tensors.get('blk.1.ffn_gate_inp.weight')).toMatchObject({ type: 'F32', shape: [12, 64] })
  await file.close()
  const [own, from] = [await openMappedCheckpoint(at('moe.gguf')), await openMappedCheckpoint(at('moe'))]
  expect([...own.tensors.keys()].toSorted()).toEqual([...from.tensors.keys()].toSorted())
  for (const expert of [0, 7, 11])
    for (const part of ['gate', 'up', 'down']) {
      const name = `model.layers.1.mlp.experts.${expert}.${part}_proj.weight`
      expect(await own.read(name)).toEqual(await from.read(name))
    }
  const [config, expected] = [await readModelConfig(at('moe.gguf')), await readModelConfig(at('moe'))]
  expect(config.experts).toEqual(expected.experts)
  expect(config.layers).toEqual(expected.layers)
})

async function answer(model: string): Promise<unknown> {
  const server = await startServer({
    model,
    servedModelNames: ['m'],
    port: 0,
    threads: 1,
    dtype: 'f32',
    kvCacheBytes: 2 ** 22,
    maxModelLen: 64,
  })
  try {
    const response = await fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', prompt: 'one and', max_tokens: 12, temperature: 0, logprobs: 1 }),
    })
    return ((await response.json()) as { choices: unknown }).choices
  } finally {
    await server.close()
  }
}

test('it serves the same answers, to the last bit of their log-probabilities', async () => {
  const expected = await answer(at('moe'))
  expect(await answer(at('moe.gguf'))).toEqual(expected)
  await exportTo('q8.gguf', at('moe'), '--type', 'q8_0')
  expect(await answer(at('q8.gguf'))).not.toEqual(expected)
})

test('an adapter of experts is exported as stacks, in the order of the experts', async () => {
  await writeFile(at('data.jsonl'), '{"text": "one and one is two"}\n'.repeat(8))
  const settings = {
    model: at('moe'),
    dataset: at('data.jsonl'),
    output_dir: at('run'),
    max_seq_length: 32,
    max_steps: 1,
    lora_rank: 4,
    learning_rate: 1e-2,
  }
  const flags = Object.entries(settings).map(([key, value]) => `--${key}=${value}`)
  await train(readConfig({ flags }), { threads: 1 })
  await exportTo('adapter.gguf', at('run/adapter'))
  const file = await openGguf(at('adapter.gguf'))
  const stack = file.tensors.get('blk.0.ffn_down_exps.weight.lora_a')
  expect(stack?.shape).toEqual([12, 4, 32])
  expect(file.tensors.get('blk.0.ffn_down_exps.weight.lora_b')?.shape).toEqual([12, 64, 4])
  expect(file.tensors.get('blk.0.attn_q.weight.lora_a')?.shape).toEqual([4, 64])
  const { tensors } = await readAdapter(at('run/adapter'))
  const tenth = tensors.find(({ name }) => name === 'model.layers.0.mlp.experts.10.down_proj.lora_A.weight')
  const stacked = decodeFloats('F32', await file.read(stack!))
  expect(stacked.subarray(10 * 4 * 32, 11 * 4 * 32)).toEqual(tenth?.values)
  await file.close()
})

test('layers without experts, and weights that are not divided by their sum, are refused by name', async () => {
  await writeModelOf(at('mixed'), keysOf({ mlp_only_layers: [0] }), 1)
  await expect(exportTo('mixed.gguf', at('mixed'))).rejects.toThrow(
    '"model.layers.0.mlp.gate_proj.weight" has no name in GGUF’s qwen3moe',
  )
  await writeModelOf(at('whole'), keysOf({ norm_topk_prob: false }), 1)
  await expect(exportTo('whole.gguf', at('whole'))).rejects.toThrow('norm_topk_prob: false cannot be said')
})
