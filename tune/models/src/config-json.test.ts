import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configJsonText, parseModelConfig, readModelConfig } from './config-json.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-config-json-'))
})
afterAll(() => rm(directory, { recursive: true }))

const small = {
  model_type: 'qwen3',
  vocab_size: 151936,
  hidden_size: 1024,
  intermediate_size: 3072,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  hidden_act: 'silu',
  max_position_embeddings: 40960,
  max_window_layers: 28,
  rms_norm_eps: 1e-6,
  rope_scaling: null,
  rope_theta: 1_000_000,
  sliding_window: null,
  use_sliding_window: false,
  tie_word_embeddings: true,
  attention_bias: false,
  attention_dropout: 0,
  bos_token_id: 151643,
  eos_token_id: 151645,
}
const parse = (over: Record<string, unknown> = {}) => parseModelConfig('config.json', { ...small, ...over })

test('reads the shape of a 0.6B model', () => {
  expect(parse()).toEqual({
    model_type: 'qwen3',
    vocab_size: 151936,
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 128,
    rms_norm_eps: 1e-6,
    max_position_embeddings: 40960,
    tie_word_embeddings: true,
    initializer_range: 0.02,
    bos_token_id: 151643,
    eos_token_ids: [151645],
    pad_token_id: undefined,
    ropes: [{ theta: 1e6, width: 128, scaling: undefined, attention_factor: 1 }],
    layers: Array.from({ length: 28 }, () => ({ rope: 0, window: 0, has_experts: false })),
    attention_scale: 128 ** -0.5,
    embedding_scale: 0,
    embedding_multiplier: 1,
    residual_multiplier: 1,
    logits_scale: 1,
    attention_softcap: 0,
    logits_softcap: 0,
    rotates_neighbours: false,
    sinks: false,
    qk_norm: true,
    weight_offset: 0,
    norms: 'before',
    norm_names: ['post_attention_layernorm', 'pre_feedforward_layernorm', 'post_feedforward_layernorm'],
    fused: [],
    activation: 'swiglu',
    biases: [],
    experts: undefined,
    quantization: undefined,
  })
})

test('missing keys have the defaults of transformers', () => {
  expect(parseModelConfig('config.json', { model_type: 'qwen3' })).toMatchObject({
    vocab_size: 151936,
    hidden_size: 4096,
    intermediate_size: 22016,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 32,
    head_dim: 128,
    rms_norm_eps: 1e-6,
    ropes: [{ theta: 10_000, width: 128 }],
    max_position_embeddings: 32768,
    tie_word_embeddings: false,
    eos_token_ids: [],
  })
  expect(parse({ num_key_value_heads: null })).toMatchObject({ num_key_value_heads: 16 })
})

test('reads the rotary base in both layouts', () => {
  expect(
    parse({ rope_theta: undefined, rope_parameters: { rope_type: 'default', rope_theta: 5e5 } }),
  ).toMatchObject({ ropes: [{ theta: 5e5 }] })
  expect(parse({ rope_theta: 5e5, rope_scaling: { type: 'default' } })).toMatchObject({
    ropes: [{ theta: 5e5 }],
  })
})

test('a written config reads back the same', () => {
  const keys = { ...small, model_type: 'qwen3' as const, eos_token_id: [1, 2], pad_token_id: 0 }
  const written = JSON.parse(configJsonText(keys)) as Record<string, unknown>
  expect(written['architectures']).toEqual(['Qwen3ForCausalLM'])
  expect(parseModelConfig('config.json', written)).toEqual(parseModelConfig('config.json', keys))
})

/** Promise T3: An unknown architecture or config.json key is rejected by name. */
test.each([
  [
    { model_type: 'bloom' },
    'config.json: model_type "bloom" is not supported; supported: llama, mistral, qwen2, qwen3',
  ],
  [{ logit_scale: 0.5 }, 'config.json: unknown key logit_scale 0.5: its effect on a qwen3 model is unknown'],
  [{ model_type: undefined }, 'model_type undefined is not supported'],
  [{ model_type: 'constructor' }, 'model_type "constructor" is not supported'],
  [
    { rope_scaling: { rope_type: 'dynamic', factor: 4 } },
    'rope_type "dynamic" is not supported; supported: default, linear, llama3, yarn, longrope',
  ],
  [{ rope_parameters: { rope_type: 'linear' } }, 'rope_type linear needs factor'],
  [{ rope_parameters: { rope_type: 'default', stretch: 2 } }, 'rope_parameters'],
  [{ layer_types: ['chunked_attention'] }, 'layer_types'],
  [{ rope_interleaved: false }, 'unknown key rope_interleaved false'],
  [{ model_type: 'mistral' }, 'unknown key max_window_layers 28: its effect on a mistral model is unknown'],
  [{ layer_types: ['full_attention'] }, 'layer_types has 1 entries for 28 layers'],
  [{ hidden_act: 'gelu' }, 'hidden_act "gelu" is not supported; it must be "silu"'],
  [{ attention_dropout: 0.1 }, 'attention_dropout 0.1 is not supported; it must be 0'],
  [{ hidden_size: '1024' }, 'hidden_size'],
  [{ num_key_value_heads: 3 }, 'num_attention_heads 16 must be a multiple of num_key_value_heads 3'],
  [{ head_dim: 127 }, 'head_dim must be even, got 127'],
  [
    { quantization_config: { quant_method: 'gptq' } },
    'quantization_config {"quant_method":"gptq"} is not supported; supported: fine-grained FP8',
  ],
  [
    { quantization_config: { quant_method: 'fp8', weight_block_size: [64, 64] } },
    'weight_block_size [128, 128]',
  ],
  [
    { quantization_config: { quant_method: 'bitsandbytes', load_in_8bit: true } },
    'bitsandbytes NF4 with bnb_4bit_use_double_quant',
  ],
])('rejects %j', (over, message) => {
  expect(() => parse(over)).toThrow(message)
})

test.each([
  [
    { quant_method: 'fp8', fmt: 'e4m3', activation_scheme: 'dynamic', weight_block_size: [128, 128] },
    'fp8_tiles',
  ],
  [{ quant_method: 'modelopt', quant_algo: 'NVFP4', ignore: ['lm_head'] }, 'nvfp4'],
  [
    {
      quant_method: 'bitsandbytes',
      load_in_4bit: true,
      bnb_4bit_quant_type: 'nf4',
      bnb_4bit_use_double_quant: true,
    },
    'nf4',
  ],
])('detects the layout declared by %j', (quantization_config, layout) => {
  expect(parse({ quantization_config }).quantization).toBe(layout)
})

test('reads the quantization file of ModelOpt beside config.json and rejects a missing or invalid config', async () => {
  await expect(readModelConfig(directory)).rejects.toThrow(
    'config.json: no such file; a model directory has config.json, *.safetensors and tokenizer.json',
  )
  await writeFile(join(directory, 'config.json'), '{')
  await expect(readModelConfig(directory)).rejects.toThrow('config.json: not JSON')
  await writeFile(join(directory, 'config.json'), JSON.stringify(small))
  await writeFile(
    join(directory, 'hf_quant_config.json'),
    JSON.stringify({ producer: { name: 'modelopt' }, quantization: { quant_algo: 'NVFP4', group_size: 16 } }),
  )
  expect(await readModelConfig(directory)).toMatchObject({ hidden_size: 1024, quantization: 'nvfp4' })
})
