/**
 * SmolLM3, Phi-3, Gemma 3, Granite, Mixtral and Qwen2-MoE as GGUF files: written, read back, served, and
 * rejected if GGUF has no key for a setting.
 */
import { FAMILIES, readModelConfig } from '@cairn-tune/models'
import { loadAddon } from '@cairn-tune/native'
import { writeModelFromConfig } from '@cairn-tune/train'
import { decodeFloats, openMappedCheckpoint } from '@cairn-tune/weights'
import { openGguf } from '@cairn-tune/weights/gguf/gguf-file'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeStage } from './gguf-stage.ts'

// A fresh clone compiles the kernels first, which takes longer than the hook timeout.
await loadAddon()
const { at, exportTo, answer, remove } = await makeStage('gguf-families')
const small = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 128,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  max_position_embeddings: 256,
  initializer_range: 0.1,
}
const experts = { num_hidden_layers: 2, num_experts_per_tok: 2 }
const KEYS = {
  smollm3: { ...FAMILIES.smollm3.defaults, ...small, num_hidden_layers: 5 },
  phi3: { ...FAMILIES.phi3.defaults, ...small, num_hidden_layers: 2, sliding_window: null },
  gemma3_text: {
    ...FAMILIES.gemma3_text.defaults,
    ...small,
    num_hidden_layers: 7,
    query_pre_attn_scalar: 16,
    sliding_window: 8,
  },
  granite: {
    ...FAMILIES.granite.defaults,
    ...small,
    num_hidden_layers: 2,
    embedding_multiplier: 12,
    residual_multiplier: 0.22,
    attention_multiplier: 0.1,
    logits_scaling: 5,
  },
  mixtral: { ...FAMILIES.mixtral.defaults, ...small, ...experts, num_local_experts: 4 },
  qwen2_moe: {
    ...FAMILIES.qwen2_moe.defaults,
    ...small,
    ...experts,
    num_experts: 4,
    moe_intermediate_size: 32,
    shared_expert_intermediate_size: 96,
  },
} as const
type Name = keyof typeof KEYS
const write = (to: string, name: Name, over: Readonly<Record<string, unknown>> = {}) =>
  writeModelFromConfig(at(to), { ...KEYS[name], model_type: name, ...over }, 3)
afterAll(remove)

describe.each([
  ['smollm3', 'blk.4.ffn_gate.weight', [128, 64]],
  ['phi3', 'blk.1.attn_qkv.weight', [128, 64]],
  ['gemma3_text', 'blk.6.post_ffw_norm.weight', [64]],
  ['granite', 'blk.1.attn_q.weight', [64, 64]],
  ['mixtral', 'blk.1.ffn_gate_exps.weight', [4, 128, 64]],
  ['qwen2_moe', 'blk.1.ffn_up_shexp.weight', [96, 64]],
] as const)('%s', (name, tensor, shape) => {
  const file = `${name}.gguf`
  beforeAll(async () => {
    await write(name, name)
    await exportTo(file, at(name))
  })

  test('every weight and key survives the round trip', async () => {
    const written = await openGguf(at(file))
    expect(written.tensors.get(tensor)?.shape).toEqual(shape)
    await written.close()
    const [own, from] = [await openMappedCheckpoint(at(file)), await openMappedCheckpoint(at(name))]
    expect([...own.tensors.keys()].toSorted()).toEqual([...from.tensors.keys()].toSorted())
    for (const [weight, { dtype, shape: wanted }] of from.tensors) {
      const found = own.tensors.get(weight)
      expect(found?.shape, weight).toEqual(wanted)
      const values = decodeFloats(found?.dtype as 'F32', await own.read(weight))
      expect(values, weight).toEqual(decodeFloats(dtype as 'BF16', await from.read(weight)))
    }
    await Promise.all([own.close(), from.close()])
    expect(await readModelConfig(at(file))).toEqual({
      ...(await readModelConfig(at(name))),
      initializer_range: 0.02,
      eos_token_ids: [2],
      pad_token_id: 0,
    })
  })

  /**
   * Promise T3.4: Phi-3, Gemma 3 and SmolLM3 exported to GGUF serve the same answers, with converted norms
   * and row orders.
   */
  test('the file serves the same answers with bit-identical log-probabilities', async () => {
    expect(await answer(file)).toEqual(await answer(name))
  })
})

/** The values of a tensor of the file and of the weight that it comes from. */
async function pair(name: Name, tensor: string, weight: string): Promise<Float32Array[]> {
  const [file, model] = [await openGguf(at(`${name}.gguf`)), await openMappedCheckpoint(at(name))]
  const stored = file.tensors.get(tensor)
  const { dtype } = model.tensors.get(weight) ?? {}
  if (!stored) throw new Error(`${name} has no ${tensor}`)
  const bytes = [await file.read(stored), await model.read(weight)] as const
  await Promise.all([file.close(), model.close()])
  return [decodeFloats(stored.type as 'BF16', bytes[0]), decodeFloats(dtype as 'BF16', bytes[1])]
}

test('the file stores the norms of gemma3 plus one', async () => {
  const [own, weight] = await pair('gemma3_text', 'output_norm.weight', 'model.norm.weight')
  expect(own).toEqual(weight?.map(value => value + 1))
})

test('the file stores the query rows of smollm3 interleaved in pairs', async () => {
  const [own, weight] = await pair('smollm3', 'blk.0.attn_q.weight', 'model.layers.0.self_attn.q_proj.weight')
  const row = (of: Float32Array | undefined, at: number) => of?.subarray(64 * at, 64 * (at + 1))
  for (const [paired, half] of [
    [0, 0],
    [1, 8],
    [2, 1],
    [17, 24],
  ] as const)
    expect(row(own, paired), String(paired)).toEqual(row(weight, half))
})

const scaled = { rope_type: 'linear', factor: 8 }
test.each([
  ['smollm3', { no_rope_layers: [1, 1, 1, 1, 1] }, 'all layers but every 4th have positions; layer 3'],
  ['phi3', { sliding_window: 8 }, 'has layers with an attention window of 8 tokens'],
  ['phi3', { partial_rotary_factor: 0.5 }, 'heads of 16 numbers with 8 rotary dimensions'],
  ['gemma3_text', { sliding_window_pattern: 2 }, 'all layers but every 6th have a window; layer 1'],
  ['gemma3_text', { query_pre_attn_scalar: 64 }, 'cannot write query_pre_attn_scalar 64'],
  ['gemma3_text', { rope_scaling: scaled }, 'cannot write rope scaling "linear"'],
  ['granite', { attention_bias: true }, '"model.layers.0.self_attn.q_proj.bias" has no GGUF name in granite'],
  ['mixtral', { sliding_window: 8 }, 'has layers with an attention window of 8 tokens'],
  ['qwen2_moe', { norm_topk_prob: true }, 'cannot write norm_topk_prob: true'],
  ['qwen2_moe', { qkv_bias: false }, 'cannot write qkv_bias: false'],
] as const)('rejects %s with %j by name', async (name, over, message) => {
  const to = `${name}-${Object.keys(over)[0]}`
  await write(to, name, over)
  await expect(exportTo(`${to}.gguf`, at(to))).rejects.toThrow(message)
})
