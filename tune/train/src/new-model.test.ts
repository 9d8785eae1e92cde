import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FAMILIES, partsOf, readModelConfig } from '@cairn-tune/models'
import { dequantize } from '@cairn-tune/ops'
import { decodeFloats, loadTokenizer, openCheckpoint, readWeight } from '@cairn-tune/weights'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BYTE_VOCABULARY } from './byte-tokenizer.ts'
import { STORED_NVFP4, configOfShape, writeModelFromConfig, writeNewModel } from './new-model.ts'
import { SHAPES, type ShapeName } from './shapes.ts'

let directory: string
let model: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-new-model-'))
  model = join(directory, 'tiny')
  await writeNewModel(model, 'tiny', 1)
})
afterAll(() => rm(directory, { recursive: true }))

test('a new model reads like any other', async () => {
  const config = await readModelConfig(model)
  expect(config).toEqual(configOfShape('tiny'))
  const weights = await openCheckpoint(model)
  expect(
    [...weights.tensors.values()]
      .map(({ name, shape }) => ({ name, shape }))
      .toSorted((a, b) => a.name.localeCompare(b.name)),
  ).toEqual(partsOf(config).weights.toSorted((a, b) => a.name.localeCompare(b.name)))
  const values = decodeFloats('BF16', await weights.read('model.embed_tokens.weight'))
  const spread = Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0) / values.length)
  // 20480 draws: the standard deviation within 3 %.
  expect(Math.abs(spread / 0.02 - 1)).toBeLessThan(0.03)
  expect(decodeFloats('BF16', await weights.read('model.norm.weight')).every(value => value === 1)).toBe(true)
  await weights.close()
})

test('the seed determines the bytes, and a directory in use is rejected', async () => {
  const bytes = async (seed: number) => {
    const path = join(directory, `seed-${seed}`)
    await writeNewModel(path, 'tiny', seed)
    return readFile(join(path, 'model.safetensors'))
  }
  const first = await readFile(join(model, 'model.safetensors'))
  expect(Buffer.compare(first, await bytes(2))).not.toBe(0)
  expect(Buffer.compare(first, await bytes(1))).toBe(0)
  await expect(writeNewModel(model, 'tiny', 1)).rejects.toThrow(
    'not empty; write the new model to a new directory',
  )
})

test("its tokenizer has one token per byte, is lossless, and marks the assistant's tokens", async () => {
  const tokenizer = await loadTokenizer(model)
  expect(tokenizer).toMatchObject({ vocabSize: BYTE_VOCABULARY, eosTokenId: 2, padTokenId: 0 })
  for (const text of ['Câte mere? 25 de mere!\n\n', '日本 🙂\u0000\u007f\u00ad', '  a  b ']) {
    const ids = tokenizer.encode(text)
    expect(ids).toEqual([...new TextEncoder().encode(text)].map(byte => byte + 3))
    expect(tokenizer.decode(ids)).toBe(text)
  }
  const chat = {
    messages: [
      { role: 'user', content: 'Câte?' },
      { role: 'assistant', content: '7' },
    ],
  }
  const { ids, isAssistant } = tokenizer.encodeChat(chat)
  expect(tokenizer.decode(ids)).toBe(
    '<|im_start|>user\nCâte?<|im_end|>\n<|im_start|>assistant\n7<|im_end|>\n',
  )
  expect(tokenizer.decode(ids.filter((_, i) => isAssistant[i]))).toBe('7<|im_end|>\n')
})

test('its chat template renders tools, their results, and calls as the assistant wrote them', async () => {
  const { chat } = await loadTokenizer(model)
  const call = { function: { name: 'add', arguments: { a: 1, b: 'ă "' } } }
  const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
  const question = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Q' },
  ]
  const messages = [
    ...question,
    { role: 'assistant', content: '', tool_calls: [call, call] },
    { role: 'tool', content: '3' },
    { role: 'assistant', content: null, tool_calls: [{ function: { name: 'add', arguments: '{no json' } }] },
    { role: 'tool', content: '?' },
    { role: 'assistant', content: 'So.', tool_calls: [call] },
  ]
  const shown =
    '<|im_start|>system\nS\n\n<tools>\n{"type": "function", "function": {"name": "add", "parameters": ' +
    '{"type": "object"}}}\n</tools><|im_end|>\n<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n'
  const made = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": "ă \\""}}\n</tool_call>'
  expect(chat?.render({ messages: question, tools }, { addGenerationPrompt: true })).toBe(shown)
  const pieces = chat?.pieces({ messages, tools }) ?? []
  expect(pieces.filter(piece => piece.isAssistant).map(piece => piece.text)).toEqual([
    `${made}\n${made}<|im_end|>\n`,
    '<tool_call>\n{"name": "add", "arguments": {no json}\n</tool_call><|im_end|>\n',
    `So.\n${made}<|im_end|>\n`,
  ])
  expect(pieces.slice(0, 3).map(piece => piece.text)).toEqual([
    shown,
    `${made}\n${made}<|im_end|>\n`,
    '<|im_start|>tool\n3<|im_end|>\n<|im_start|>assistant\n',
  ])
  // Without tools none of this is rendered, and without a system turn the tools get their own.
  expect(chat?.render({ messages: question })).toBe(
    '<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n',
  )
  expect(chat?.render({ messages: question.slice(1), tools })).toBe(
    `<|im_start|>system\n${shown.slice(shown.indexOf('<tools>'), shown.indexOf('<|im_start|>assistant'))}`,
  )
})

const parameters = (shape: ShapeName) =>
  partsOf(configOfShape(shape)).weights.reduce(
    (sum, weight) => sum + weight.shape.reduce((product, length) => product * length, 1),
    0,
  )

test('published shapes have the published parameter counts', () => {
  const millions = Object.fromEntries(
    (Object.keys(SHAPES) as ShapeName[]).map(shape => [shape, Math.round(parameters(shape) / 1e6)]),
  )
  expect(millions).toMatchObject({
    'qwen3-0.6b': 596,
    'qwen3-1.7b': 1721,
    'qwen3-4b': 4022,
    'qwen3-8b': 8191,
    'qwen2.5-0.5b': 494,
    'qwen2.5-7b': 7616,
    'llama-3.2-1b': 1236,
    'llama-3.1-8b': 8030,
    'smollm2-135m': 135,
    'mistral-7b': 7248,
    'phi-3-mini': 3821,
    'gemma-3-1b': 1000,
    'smollm3-3b': 3075,
    'qwen3-30b-a3b': 30532,
    'gpt-oss-20b': 20915,
  })
  expect(parameters('small')).toBeGreaterThan(3e6)
  expect(parameters('small')).toBeLessThan(6e6)
})

test('stores projections in NVFP4 and gpt-oss experts in MXFP4 with random codes of the initial spread', async () => {
  const spreads: Record<string, number> = {}
  const sizes = {
    hidden_size: 64,
    intermediate_size: 64,
    vocab_size: 320,
    num_hidden_layers: 1,
    head_dim: 32,
  }
  const heads = { num_attention_heads: 2, num_key_value_heads: 1, initializer_range: 0.02 }
  for (const [name, keys, weight] of [
    ['nvfp4', { model_type: 'qwen3', ...STORED_NVFP4 }, 'model.layers.0.mlp.up_proj.weight'],
    [
      'mxfp4',
      {
        ...FAMILIES.gpt_oss.defaults,
        model_type: 'gpt_oss',
        num_local_experts: 3,
        quantization_config: { quant_method: 'mxfp4' },
      },
      'model.layers.0.mlp.experts.gate_up_proj.weight',
    ],
  ] as const) {
    const path = join(directory, name)
    await writeModelFromConfig(path, { ...keys, ...sizes, ...heads }, 1)
    const checkpoint = await openCheckpoint(path)
    const { dtype, shape, buffer } = await readWeight(checkpoint, weight)
    expect(dtype).toBe(name)
    const values = dequantize(buffer, dtype, shape)
    spreads[name] = Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length)
    await checkpoint.close()
  }
  expect(spreads['nvfp4']).toBeCloseTo(0.02, 3)
  // MXFP4 scales are powers of two.
  expect(spreads['mxfp4']).toBeCloseTo(0.0229, 3)
})
