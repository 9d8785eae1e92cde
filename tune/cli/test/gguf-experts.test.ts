/** A model with experts as a GGUF file: the same model, and its expert adapters as stacks. */
import { FAMILIES, readModelConfig } from '@cairn-tune/models'
import { writeModelFromConfig } from '@cairn-tune/train'
import { decodeFloats, openMappedCheckpoint, readAdapter } from '@cairn-tune/weights'
import { openGguf } from '@cairn-tune/weights/gguf/gguf-file'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeStage } from './gguf-stage.ts'

const { at, exportTo, trainOn, answer, remove } = await makeStage('gguf-experts')
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
beforeAll(async () => {
  await writeModelFromConfig(at('moe'), keysOf(), 1)
  await exportTo('moe.gguf', at('moe'))
})
afterAll(remove)

test('the file stores its experts as one tensor, read as one matrix per expert, bit for bit', async () => {
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

/**
 * Promise T3.4: A mixture-of-experts model exported to GGUF serves the same answers with stacked expert
 * adapters.
 */
test('the file serves the same answers with bit-identical log-probabilities', async () => {
  const expected = await answer('moe')
  expect(await answer('moe.gguf')).toEqual(expected)
  await exportTo('q8.gguf', at('moe'), '--type', 'q8_0')
  expect(await answer('q8.gguf')).not.toEqual(expected)
})

test('exports an expert adapter as stacks, in the order of the experts', async () => {
  const adapter = await trainOn('moe')
  await exportTo('adapter.gguf', adapter)
  const file = await openGguf(at('adapter.gguf'))
  const stack = file.tensors.get('blk.0.ffn_down_exps.weight.lora_a')
  expect(stack?.shape).toEqual([12, 4, 32])
  expect(file.tensors.get('blk.0.ffn_down_exps.weight.lora_b')?.shape).toEqual([12, 64, 4])
  expect(file.tensors.get('blk.0.attn_q.weight.lora_a')?.shape).toEqual([4, 64])
  const { tensors } = await readAdapter(adapter)
  const tenth = tensors.find(({ name }) => name === 'model.layers.0.mlp.experts.10.down_proj.lora_A.weight')
  const stacked = decodeFloats('F32', await file.read(stack!))
  expect(stacked.subarray(10 * 4 * 32, 11 * 4 * 32)).toEqual(tenth?.values)
  await file.close()
})

test('rejects layers without experts and unnormalised router weights by name', async () => {
  await writeModelFromConfig(at('mixed'), keysOf({ mlp_only_layers: [0] }), 1)
  await expect(exportTo('mixed.gguf', at('mixed'))).rejects.toThrow(
    '"model.layers.0.mlp.gate_proj.weight" has no GGUF name in qwen3moe',
  )
  await writeModelFromConfig(at('whole'), keysOf({ norm_topk_prob: false }), 1)
  await expect(exportTo('whole.gguf', at('whole'))).rejects.toThrow('cannot write norm_topk_prob: false')
})
