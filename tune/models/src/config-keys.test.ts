/** Keys of config.json beside those that transformers' modelling code reads. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseModelConfig } from './config-json.ts'
import { WITHOUT_EFFECT } from './config-keys.ts'
import { FAMILIES } from './families.ts'

const { shared, families } = JSON.parse(
  readFileSync(new URL('../test/golden/config-keys.json', import.meta.url), 'utf8'),
) as { shared: string[]; families: Record<string, string[]> }

/** Keys that are read, and only select between kernels, outputs and classes with the same numbers. */
const SAME_NUMBERS = ['_attn_implementation', 'dtype', 'num_labels']

test('no key that is declared to have no effect is read by the modelling code of transformers', () => {
  for (const [family, read] of Object.entries({ ...families, shared }))
    expect(
      read.filter(key => WITHOUT_EFFECT.has(key) && !SAME_NUMBERS.includes(key)),
      family,
    ).toEqual([])
})

test('the modelling code of every family in the table was read', () => {
  expect(Object.keys(FAMILIES).filter(name => !(name in families))).toEqual([])
})

const sizes = {
  vocab_size: 32,
  hidden_size: 8,
  num_attention_heads: 2,
  num_key_value_heads: 2,
  num_hidden_layers: 1,
}

test.each([
  ['what transformers 4.46 to 4.51 write', 'llama', { _attn_implementation_autoset: true }],
  ['early Llama', 'llama', { max_sequence_length: 2048 }],
  ['Zephyr', 'mistral', { model_max_length: 2048, neftune_noise_alpha: 5 }],
  ['DeepSeek-R1-Distill-Qwen', 'qwen2', { use_mrope: false }],
  [
    'Qwen3-Coder',
    'qwen3_moe',
    { qkv_bias: false, shared_expert_intermediate_size: 0, use_qk_norm: true, num_experts: 8 },
  ],
])('loads the config.json of %s', (_, model_type, keys) => {
  expect(parseModelConfig('config.json', { model_type, ...sizes, ...keys }).model_type).toBe(model_type)
})

test('refuses keys of other families with a value that selects something', () => {
  const parse = (keys: object) => () =>
    parseModelConfig('config.json', { model_type: 'qwen2', ...sizes, ...keys })
  expect(parse({ use_mrope: true })).toThrow('unknown key use_mrope true')
  expect(parse({ shared_expert_intermediate_size: 8 })).toThrow(
    'unknown key shared_expert_intermediate_size 8',
  )
})
