/**
 * Every dense family against transformers and PEFT: hidden states, losses, gradients, and the effect of each
 * flag.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import { FAMILY_NAMES, type ModelConfig } from '@cairn-tune/models'
import { readFamily } from './golden-file.ts'
import { distance, openGolden, type GoldenModel } from './golden-model.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

const TOLERANCE = 1e-5

async function farthest(
  { tensors, run }: GoldenModel,
  hasLora: boolean,
  config?: ModelConfig,
): Promise<number> {
  const prefix = hasLora ? 'lora.' : 'bare.'
  const outputs = await run(hasLora, config)
  const expected = [...tensors].filter(([name]) => name.startsWith(prefix))
  return Math.max(
    ...expected.map(([name, values]) =>
      distance(outputs.get(name.slice(prefix.length)) ?? new Float32Array(), values),
    ),
  )
}

/** Turning off each flag must change the outputs. Each rope setting has its own flag. */
const FLAGS: Record<string, (config: ModelConfig) => ModelConfig> = {
  attention_scale: config => ({ ...config, attention_scale: config.head_dim ** -0.5 }),
  embedding_scale: config => ({ ...config, embedding_scale: 0 }),
  embedding_multiplier: config => ({ ...config, embedding_multiplier: 1 }),
  residual_multiplier: config => ({ ...config, residual_multiplier: 1 }),
  logits_scale: config => ({ ...config, logits_scale: 1 }),
  attention_softcap: config => ({ ...config, attention_softcap: 0 }),
  logits_softcap: config => ({ ...config, logits_softcap: 0 }),
  rotates_neighbours: config => ({ ...config, rotates_neighbours: false }),
  qk_norm: config => ({ ...config, qk_norm: false }),
  weight_offset: config => ({ ...config, weight_offset: 0 }),
  activation: config => ({ ...config, activation: 'swiglu' }),
  window: config => ({ ...config, layers: config.layers.map(layer => ({ ...layer, window: 0 })) }),
  'a rope by kind of layer': config => ({
    ...config,
    layers: config.layers.map(layer => ({ ...layer, rope: 0 })),
  }),
  'layers that do not turn': config => ({
    ...config,
    layers: config.layers.map(layer => ({ ...layer, rope: layer.rope ?? 0 })),
  }),
  'scaling of ropes': config => ({
    ...config,
    ropes: config.ropes.map(rope => ({ ...rope, scaling: undefined })),
  }),
  attention_factor: config => ({
    ...config,
    ropes: config.ropes.map(rope => ({ ...rope, attention_factor: 1 })),
  }),
  'the part of a head that rotates': config => ({
    ...config,
    ropes: config.ropes.map(rope => ({ ...rope, width: config.head_dim, scaling: undefined })),
  }),
  'weights of experts over those chosen': config => ({
    ...config,
    ...(config.experts && {
      experts: { ...config.experts, softmax_over_all: !config.experts.softmax_over_all },
    }),
  }),
  'an expert for every token': config => ({
    ...config,
    ...(config.experts && { experts: { ...config.experts, shared_intermediate_size: 0 } }),
  }),
  sinks: config => ({ ...config, sinks: false }),
  'limits of gates and ups': config => ({
    ...config,
    ...(config.experts?.clamp && {
      experts: { ...config.experts, clamp: { ...config.experts.clamp, limit: 100 } },
    }),
  }),
  'biases of experts': config => ({
    ...config,
    ...(config.experts && { experts: { ...config.experts, is_biased: false } }),
  }),
  'as many experts of a token': config => ({
    ...config,
    ...(config.experts && { experts: { ...config.experts, top_k: config.experts.top_k - 1 } }),
  }),
  ...Object.fromEntries(
    ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'].map(name => [
      `bias of ${name}`,
      (config: ModelConfig) => ({ ...config, biases: config.biases.filter(bias => bias !== name) }),
    ]),
  ),
}

describe.each(FAMILY_NAMES)('%s', name => {
  const golden = openGolden(engine, readFamily(name), `families/${name}.safetensors`)

  /**
   * Promise T3: Llama, Mistral, Qwen2, Qwen3, Qwen3-MoE, gpt-oss, Phi-3 and Gemma 3 compute what transformers
   * and PEFT compute.
   */
  test('with an adapter: hidden states, losses and gradients match transformers and PEFT', async () => {
    expect(await farthest(golden, true)).toBeLessThan(TOLERANCE)
  })

  test('trained in full: hidden states, losses and gradients match transformers', async () => {
    expect(await farthest(golden, false)).toBeLessThan(TOLERANCE)
  })

  test('reads every weight of the checkpoint by its name and shape', () => {
    expect(golden.missing()).toEqual([])
  })

  const { config } = golden
  const flags = Object.entries(FLAGS).filter(
    ([, turnOff]) => JSON.stringify(turnOff(config)) !== JSON.stringify(config),
  )
  /** Promise T3: The tests fail if any feature of a model family is missing. */
  test.each(flags)('without %s the outputs differ', async (_, turnOff) => {
    expect(await farthest(golden, true, turnOff(config))).toBeGreaterThan(1e3 * TOLERANCE)
  })
})
