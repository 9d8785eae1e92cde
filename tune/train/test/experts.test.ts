/** Expert adapters: their own rank, all experts or none, and errors on a base with other experts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FAMILIES, partsOf, readModelConfig } from '@cairn-tune/models'
import { mergeAdapter, readAdapter, writeModelFromConfig, writeNewModel } from '@cairn-tune/train'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)

const keysOf = (over: Readonly<Record<string, unknown>> = {}) => ({
  ...FAMILIES.qwen3_moe.defaults,
  model_type: 'qwen3_moe' as const,
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_experts: 4,
  num_experts_per_tok: 2,
  moe_intermediate_size: 32,
  norm_topk_prob: true,
  initializer_range: 0.05,
  ...over,
})
const [model, smaller, larger] = ['four', 'three', 'five'].map(name => join(bench.directory, name)) as [
  string,
  string,
  string,
]
await writeModelFromConfig(model, keysOf(), 1)
await writeModelFromConfig(smaller, keysOf({ num_experts: 3 }), 1)
await writeModelFromConfig(larger, keysOf({ num_experts: 5 }), 1)
const settings = {
  model,
  dataset: bench.writeTexts('experts', textsOf(40, 2)),
  max_seq_length: 48,
  gradient_accumulation_steps: 1,
  max_steps: 4,
  learning_rate: 1e-2,
  lora_rank: 8,
  lora_alpha: 16,
  threads: 1,
}

/** Promise T4: Adapters of experts can have their own rank, in a form that PEFT reads. */
test('expert adapters have lora_expert_rank, written as patterns that PEFT reads', async () => {
  const run = await bench.run({ ...settings, lora_expert_rank: 2, lora_target_modules: 'q_proj,up_proj' })
  const adapter = await readAdapter(run.output)
  const ranks = new Map(
    adapter.tensors
      .filter(({ name }) => name.endsWith('lora_A.weight'))
      .map(({ name, shape }) => [name, shape[0]]),
  )
  expect(ranks.get('model.layers.1.self_attn.q_proj.lora_A.weight')).toBe(8)
  expect(ranks.get('model.layers.1.mlp.experts.3.up_proj.lora_A.weight')).toBe(2)
  expect(ranks.size).toBe(2 + 2 * 4)
  expect(['self_attn.q_proj', 'mlp.experts.3.up_proj'].map(adapter.scaleOf)).toEqual([2, 2])
  const config = JSON.parse(readFileSync(join(run.output, 'adapter_config.json'), 'utf8')) as object
  expect(config).toMatchObject({
    r: 2,
    lora_alpha: 4,
    rank_pattern: { q_proj: 8 },
    alpha_pattern: { q_proj: 16 },
  })
})

/** Promise T4: An adapter of experts saved fused is equivalent, and training resumes from it. */
test('a fused adapter equals the separate one, and training resumes from either', async () => {
  const half = { ...settings, lora_expert_rank: 2, max_steps: 2, lr_scheduler_type: 'constant' }
  const runs = [await bench.run(half), await bench.run({ ...half, adapter_layout: 'peft-fused' })]
  const { projections } = partsOf(await readModelConfig(model))
  const [separate, fused] = await Promise.all(runs.map(({ output }) => readAdapter(output, projections)))
  const byName = (adapter: typeof separate) =>
    new Map(adapter?.tensors.map(({ name, shape, values }) => [name, { shape, values }]))
  expect(byName(fused)).toEqual(byName(separate))
  expect(fused?.scaleOf('model.layers.1.mlp.experts.3.up_proj')).toBe(2)
  const config = JSON.parse(
    readFileSync(join(runs[1]?.output ?? '', 'adapter_config.json'), 'utf8'),
  ) as object
  expect(config).toMatchObject({
    r: 8,
    target_modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
    target_parameters: ['mlp.experts.gate_up_proj', 'mlp.experts.down_proj'],
    rank_pattern: { 'mlp.experts.gate_up_proj': 4, 'mlp.experts.down_proj': 2 },
    alpha_pattern: { 'mlp.experts.gate_up_proj': 8, 'mlp.experts.down_proj': 4 },
  })
  const on = await Promise.all(runs.map(({ output }) => bench.run({ ...half, init_adapter: output })))
  expect(losses(on[1] as (typeof on)[0])).toEqual(losses(on[0] as (typeof on)[0]))
})

test('rejects the fused layout if it cannot represent the trained modules', async () => {
  const fused = { ...settings, adapter_layout: 'peft-fused' }
  await expect(bench.run({ ...fused, lora_target_modules: 'q_proj' })).rejects.toThrow(
    /adapter_layout: peft-fused needs adapters on experts, and no experts of .* get one/,
  )
  await expect(bench.run({ ...fused, lora_target_modules: 'up_proj' })).rejects.toThrow(
    'stores gate_proj and up_proj in one parameter; lora_target_modules must name both or neither',
  )
})

test.each(['f32', 'bf16'] as const)('in %s, threads and recomputation change no bit', async compute_dtype => {
  const whole = await bench.run({ ...settings, compute_dtype })
  const again = await bench.run({ ...settings, compute_dtype, threads: 2, recompute: 'all' })
  expect(losses(again)).toEqual(losses(whole))
})

test.each([
  [{ use_dora: true }, 'use_dora: not available for adapters of experts'],
  [{ lora_dropout: 0.1 }, 'lora_dropout: not available for adapters of experts'],
  [{ rank_pattern: 'up_proj=4' }, 'rank_pattern: up_proj belongs to experts, for which PEFT has no patterns'],
])('rejects %j for experts', async (keys, message) => {
  await expect(bench.run({ ...settings, ...keys })).rejects.toThrow(message)
})

test('the load balancing loss is part of training steps but not of evaluations', async () => {
  const all = { ...settings, compute_dtype: 'f32', eval_dataset: settings.dataset, max_steps: 1 }
  const [plain, balanced] = [await bench.run(all), await bench.run({ ...all, router_aux_loss_coef: 0.1 })]
  // A nearly random router chooses two of four experts: E · Σ (2/4)·(1/4) = 2 for each token.
  const added = (losses(balanced)[0] ?? 0) - (losses(plain)[0] ?? 0)
  expect(added).toBeGreaterThan(0.19)
  expect(added).toBeLessThan(0.3)
  const evaluated = [plain, balanced].map(({ evaluations }) => evaluations[0]?.loss ?? NaN)
  expect(Math.abs((evaluated[0] ?? 0) - (evaluated[1] ?? 0))).toBeLessThan(0.05)
  const again = { ...all, router_aux_loss_coef: 0.1, recompute: 'all', threads: 2 }
  expect(losses(await bench.run(again))).toEqual(losses(balanced))
  const dense = join(bench.directory, 'plain')
  await writeNewModel(dense, 'tiny', 1)
  await expect(bench.run({ ...all, router_aux_loss_coef: 0.1, model: dense })).rejects.toThrow(
    /router_aux_loss_coef: .* is a qwen3 model without experts/,
  )
})

test('rejects lora_expert_rank for a model without experts', async () => {
  const dense = join(bench.directory, 'dense')
  await writeNewModel(dense, 'tiny', 1)
  await expect(bench.run({ ...settings, model: dense, lora_expert_rank: 2 })).rejects.toThrow(
    /lora_expert_rank: .* is a qwen3 model without experts/,
  )
})

/** Promise T3.2: An adapter for another number of experts is rejected by name. */
test('rejects an adapter for another number of experts by name', async () => {
  const run = await bench.run(settings)
  const output = join(bench.directory, 'merged')
  await expect(mergeAdapter({ base: smaller, adapter: run.output, output })).rejects.toThrow(
    /has no tensor "model\.layers\.\d\.mlp\.experts\.3\.\w+_proj\.weight", which the adapter changes/,
  )
  await expect(mergeAdapter({ base: larger, adapter: run.output, output })).rejects.toThrow(
    'the adapter has model.layers.0.mlp.experts.gate_proj for 4 experts, but the model has 5',
  )
})
