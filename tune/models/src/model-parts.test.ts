import { expect, test } from 'vitest'
import { parseModelConfig } from './config-json.ts'
import { partsOf, projectionLayer } from './model-parts.ts'

const tiny = parseModelConfig('config.json', {
  model_type: 'qwen3',
  vocab_size: 40,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 6,
})

test('a Qwen3 has the seven projections of the specification in each layer, with the correct sizes', () => {
  const { modules, projections } = partsOf(tiny)
  expect(modules).toEqual(['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])
  const sizes = [
    ['self_attn.q_proj', 16, 24],
    ['self_attn.k_proj', 16, 12],
    ['self_attn.v_proj', 16, 12],
    ['self_attn.o_proj', 24, 16],
    ['mlp.gate_proj', 16, 24],
    ['mlp.up_proj', 16, 24],
    ['mlp.down_proj', 24, 16],
  ] as const
  expect(projections).toEqual(
    [0, 1].flatMap(layer =>
      sizes.map(([name, inputs, outputs]) => ({
        name: `model.layers.${layer}.${name}`,
        layer,
        inputs,
        outputs,
      })),
    ),
  )
})

/** Promise T3: Names, shapes and adapter targets are derived from the forward pass. */
test('lists the weights, caches and head that a forward pass reads', () => {
  const { weights, caches, head } = partsOf(tiny)
  expect(caches).toEqual([12, 12])
  expect(head).toBe('lm_head.weight')
  expect(weights).toHaveLength(2 * 11 + 3)
  expect(weights[0]).toEqual({ name: 'model.embed_tokens.weight', shape: [40, 16] })
  expect(weights.at(-1)).toEqual({ name: 'lm_head.weight', shape: [40, 16] })
  expect(partsOf({ ...tiny, tie_word_embeddings: true }).weights).toHaveLength(2 * 11 + 2)
})

test('finds the layer of a projection weight, and none for norms and the head', () => {
  expect(projectionLayer(tiny, 'model.layers.1.mlp.down_proj.weight')).toBe(1)
  for (const name of ['model.layers.1.self_attn.q_norm.weight', 'lm_head.weight', 'model.norm.weight'])
    expect(projectionLayer(tiny, name)).toBeUndefined()
})
