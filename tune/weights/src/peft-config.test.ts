/** adapter_config.json: what is refused, with which words, and patterns as PEFT matches them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readAdapterConfig } from './peft-config.ts'
import { matchesPattern } from './rank-pattern.ts'

const directory = mkdtempSync(join(tmpdir(), 'cairn-peft-'))
afterAll(() => rmSync(directory, { recursive: true }))
const path = join(directory, 'adapter_config.json')

const saved = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: ['q_proj'] }
function read(keys: object) {
  writeFileSync(path, JSON.stringify({ ...saved, ...keys }))
  return readAdapterConfig(path)
}

test.each([
  [
    { alora_invocation_tokens: [100, 101] },
    'alora_invocation_tokens [100,101]: an activated LoRA applies only',
  ],
  [{ init_lora_weights: 'pissa' }, 'path_initial_model_for_weight_conversion'],
  [{ init_lora_weights: 'pissa_niter_4' }, 'PEFT changes the weights of the base'],
  [{ init_lora_weights: 'olora' }, 'PEFT changes the weights of the base'],
  [{ init_lora_weights: 'corda' }, 'PEFT changes the weights of the base'],
  [{ init_lora_weights: 'lora_ga' }, 'PEFT changes the weights of the base'],
  [{ init_lora_weights: 'loftq' }, 'merge it with PEFT (merge_and_unload)'],
  [{ init_lora_weights: 'newest' }, 'init_lora_weights "newest" is unknown'],
  [{ peft_type: 'IA3' }, 'peft_type "IA3" is not supported, only "LORA"; merge it with PEFT'],
  [{ peft_type: undefined, lora_parameters: {} }, 'an adapter of mlx-lm'],
  [{ peft_type: undefined }, 'use an adapter that PEFT saved'],
  [{ bias: 'all' }, 'bias "all": trained biases are not supported'],
  [{ lora_bias: true }, 'lora_bias true: biases of LoRA matrices are not supported'],
  [{ layer_replication: [[0, 4]] }, 'a base with repeated layers'],
  [{ use_qalora: true }, 'QALoRA averages the inputs'],
  [{ kasa_config: {} }, 'KaSA changes the weights of the base'],
  [{ use_bdlora: { nblocks: 2 } }, 'block-diagonal'],
  [{ use_new_lora: true }, 'unknown key use_new_lora true: its effect on the adapter is unknown'],
  [{ r: 0 }, 'r is 0, expected a positive whole number'],
  [{ lora_alpha: '8' }, 'lora_alpha is "8", expected a positive number'],
  [{ lora_alpha: undefined }, 'lora_alpha is missing, expected a positive number'],
  [{ rank_pattern: { q_proj: 'x' } }, 'rank_pattern.q_proj is "x", expected a positive number'],
])('refuses %j', (keys, message) => {
  expect(() => read(keys)).toThrow(message)
})

test('reads what PEFT 0.21 writes, and keys of later versions that select nothing', () => {
  const defaults = {
    alora_invocation_tokens: null,
    arrow_config: null,
    auto_mapping: null,
    bias: 'none',
    corda_config: null,
    ensure_weight_tying: false,
    eva_config: null,
    exclude_modules: null,
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layer_replication: null,
    layers_pattern: null,
    layers_to_transform: [0, 1],
    loftq_config: {},
    lora_bias: false,
    megatron_config: null,
    megatron_core: 'megatron.core',
    modules_to_save: null,
    peft_version: '0.21.2',
    qalora_group_size: 16,
    revision: null,
    task_type: 'CAUSAL_LM',
    trainable_token_indices: null,
    use_qalora: false,
    velora_config: null,
    a_key_of_next_year: null,
  }
  expect(read(defaults)).toMatchObject({ r: 4, lora_alpha: 8, use_dora: false })
  for (const init of [false, 'gaussian', 'eva', 'orthogonal'])
    expect(read({ init_lora_weights: init }).r).toBe(4)
})

test.each([
  ['(q|v)_proj', 'model.layers.3.self_attn.q_proj', true],
  ['(q|v)_proj', 'model.layers.3.self_attn.k_proj', false],
  ['.*q_proj', 'model.layers.3.self_attn.q_proj', true],
  ['q_proj', 'model.layers.3.self_attn.xq_proj', false],
  ['proj', 'model.layers.3.self_attn.q_proj', false],
  ['.*\\.gate_up_proj', 'model.layers.0.mlp.experts.gate_up_proj', true],
  ['layers\\.[12]\\..*', 'model.layers.2.mlp.up_proj', true],
  ['layers\\.[12]\\..*', 'model.layers.12.mlp.up_proj', false],
  ['^model\\.layers\\.\\d+\\.mlp\\.up_proj', 'model.layers.12.mlp.up_proj', true],
  ['^layers\\.\\d+\\.mlp\\.up_proj', 'model.layers.12.mlp.up_proj', false],
  ['layers\\.(?:0|1\\d?)\\.self_attn\\.[^k]_proj', 'model.layers.11.self_attn.v_proj', true],
  ['(up|down|gate)_proj|o_proj', 'model.layers.1.self_attn.o_proj', true],
  ['layers\\.\\d{2}\\..*', 'model.layers.1.mlp.up_proj', false],
])('the expression %s matches %s: %s', (name, linear, matches) => {
  expect(matchesPattern(name, linear)).toBe(matches)
})

test('an expression that takes exponential time elsewhere is matched at once, or refused', () => {
  const name = `model.${'a'.repeat(60)}`
  const started = performance.now()
  expect(matchesPattern(`${'(a|a)'.repeat(40)}${'a?'.repeat(40)}b`, name)).toBe(false)
  expect(matchesPattern('(a*)*b', name)).toBe(false)
  expect(performance.now() - started).toBeLessThan(1000)
  expect(() => matchesPattern('((a*)*)*b', name)).toThrow('nests repeats more than 2 deep')
  expect(() => matchesPattern('q(?=x)', name)).toThrow('has (?=')
  expect(() => matchesPattern('q_proj[', name)).toThrow('a set without an end')
})
