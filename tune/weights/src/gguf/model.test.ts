import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCheckpoint } from '../open-checkpoint.ts'
import type { ChatMessage } from '../chat.ts'
import { decodeFloats } from '../float-values.ts'
import { readModelText } from '../model-texts.ts'
import { loadTokenizer } from '../tokenizer.ts'
import { encodeGguf, decodeGguf } from './tensor-types.ts'
import { bool, f32, text, texts, u32, writeGguf, type MetadataValue } from './writer.ts'

const reference = (name: string) => fileURLToPath(new URL(`../../test/reference/${name}`, import.meta.url))
const goldenOf = (arch: string) => reference(`gguf/${arch}.gguf`)
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-gguf-'))
})
afterAll(() => rm(directory, { recursive: true }))

/** The values that make_models.py gives a weight, by name and index. */
function valuesOf(name: string, shape: readonly number[]): Float32Array {
  const seed = new TextEncoder().encode(name).reduce((sum, byte) => sum + byte, 0) % 31
  const columns = shape.at(-1) ?? 1
  return Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => {
    const row = shape.length === 1 ? i : Math.floor(i / columns)
    return (((row * 7 + (i % columns) * 13 + seed) % 31) - 15) / 16
  })
}

describe('a model written by the gguf package', () => {
  test.each([
    ['qwen3', 2, 24],
    ['qwen2', 1, 15],
    ['llama', 1, 12],
  ])('%s: weights have the names of transformers and the same bits', async (arch, layers, count) => {
    const checkpoint = await openCheckpoint(goldenOf(arch))
    expect(checkpoint.tensors.size).toBe(count)
    const decoded: string[] = []
    for (const [name, { dtype, shape, decodedFrom }] of checkpoint.tensors) {
      const values = valuesOf(name, shape)
      if (decodedFrom !== undefined) decoded.push(name)
      const expected = decodedFrom === undefined ? values : decodeGguf('Q8_0', encodeGguf('Q8_0', values))
      expect(decodeFloats(dtype as 'F32', await checkpoint.read(name)).slice(), name).toEqual(expected)
      const [rows = 1] = shape
      const part = await checkpoint.readRows(name, 1, rows)
      expect(decodeFloats(dtype as 'F32', part).slice(), name).toEqual(
        expected.subarray(expected.length / rows),
      )
    }
    expect(decoded).toHaveLength(arch === 'llama' ? 9 : layers)
    await checkpoint.close()
  })

  test('gives the same keys as config.json', async () => {
    const of = async (arch: string) =>
      JSON.parse((await readModelText(goldenOf(arch), 'config.json')) ?? '') as unknown
    expect(await of('qwen3')).toEqual({
      architectures: ['Qwen3ForCausalLM'],
      model_type: 'qwen3',
      vocab_size: 432,
      hidden_size: 32,
      intermediate_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 8,
      max_position_embeddings: 256,
      rms_norm_eps: 1e-6,
      rope_theta: 1e6,
      tie_word_embeddings: true,
      torch_dtype: 'bfloat16',
      eos_token_id: 2,
      pad_token_id: 0,
    })
    expect(await of('llama')).toMatchObject({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      head_dim: 8,
      rms_norm_eps: 1e-5,
      rope_theta: 500_000,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 8192,
      },
      tie_word_embeddings: false,
      bos_token_id: 1,
      eos_token_id: [2, 0],
    })
    expect(await readModelText(goldenOf('llama'), 'generation_config.json')).toBeUndefined()
  })

  test('has a tokenizer with the same ids, texts, conversations and special tokens', async () => {
    type Goldens = {
      texts: { text: string; ids: number[]; decoded: string }[]
      chats: Record<string, { messages: ChatMessage[]; tools?: unknown[]; text: string }>
    }
    const goldens = JSON.parse(await readFile(reference('tokenizer/goldens.json'), 'utf8')) as Goldens
    const tokenizer = await loadTokenizer(goldenOf('qwen3'))
    const own = await loadTokenizer(reference('tokenizer'))
    for (const { text: given, ids, decoded } of goldens.texts) {
      expect(tokenizer.encode(given), JSON.stringify(given)).toEqual(ids)
      expect(tokenizer.decode(ids), JSON.stringify(given)).toBe(decoded)
    }
    for (const { messages, tools, text: rendered } of Object.values(goldens.chats)) {
      expect(tokenizer.chat?.render({ messages, tools })).toBe(rendered)
      expect(tokenizer.encodeChat({ messages, tools })).toEqual(own.encodeChat({ messages, tools }))
    }
    expect(tokenizer).toMatchObject({ vocabSize: 375, eosTokenId: 2, padTokenId: 0, bosTokenId: undefined })
    expect(tokenizer.decode([1, 85, 2], { skipSpecialTokens: true })).toBe(own.decode([85]))
    expect(tokenizer.encodeDocument('Ana')).toEqual(own.encodeDocument('Ana'))
    const started = await loadTokenizer(goldenOf('llama'))
    expect(started.encodeDocument('Ana')).toEqual([1, ...own.encode('Ana')])
  })
})

describe('a modified file', () => {
  const whole: Record<string, MetadataValue> = {
    'general.architecture': text('qwen3'),
    'qwen3.block_count': u32(1),
    'qwen3.context_length': u32(64),
    'qwen3.embedding_length': u32(8),
    'qwen3.feed_forward_length': u32(8),
    'qwen3.attention.head_count': u32(2),
    'qwen3.attention.layer_norm_rms_epsilon': f32(1e-6),
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text('gpt-2'),
    'tokenizer.ggml.tokens': texts(['a', 'b', 'ab', '<e>']),
    'tokenizer.ggml.token_type': { kind: 'int32s', value: [1, 1, 1, 3] },
    'tokenizer.ggml.merges': texts(['a b']),
    'tokenizer.ggml.eos_token_id': u32(3),
  }
  const embedding = {
    name: 'token_embd.weight',
    type: 'F32',
    shape: [4, 8],
    bytes: new Uint8Array(128),
  } as const
  let written = 0
  async function write(
    changed: Record<string, MetadataValue | undefined>,
    more: object[] = [],
  ): Promise<string> {
    const path = join(directory, `${written++}.gguf`)
    const metadata = Object.entries({ ...whole, ...changed }).filter(
      (entry): entry is [string, MetadataValue] => entry[1] !== undefined,
    )
    const tensors = [embedding, ...(more as (typeof embedding)[])]
    await writeGguf(path, { metadata: Object.fromEntries(metadata), tensors })
    return path
  }
  const readAll = async (path: string) => {
    for (const name of ['config.json', 'tokenizer.json', 'chat_template.jinja'] as const)
      await readModelText(path, name)
    await (await openCheckpoint(path)).close()
  }

  test('the unmodified file is read', async () => {
    await readAll(await write({ 'qwen3.expert_count': u32(0), 'qwen3.rope.scaling.type': text('none') }))
    const tokenizer = await loadTokenizer(await write({}))
    expect(tokenizer.encode('aab<e>')).toEqual([0, 2, 3])
  })

  const cases: [string, Record<string, MetadataValue | undefined>, string][] = [
    ['no architecture', { 'general.architecture': undefined }, 'has no general.architecture'],
    [
      'another architecture',
      { 'general.architecture': text('mamba') },
      'general.architecture "mamba" is not supported; supported: llama, qwen2, qwen3',
    ],
    ['an adapter', { 'general.type': text('adapter') }, 'general.type must be "model", got "adapter"'],
    [
      'a key that may change what it says',
      { 'qwen3.attention.sliding_window': u32(128) },
      'qwen3.attention.sliding_window is not supported for this architecture',
    ],
    ['a missing size', { 'qwen3.block_count': undefined }, 'has no qwen3.block_count'],
    [
      'more layers than tensors',
      { 'qwen3.block_count': u32(4_000_000_000) },
      'qwen3.block_count must be between 1 and the number of tensors, 1, got 4000000000',
    ],
    [
      'a size that is a text',
      { 'qwen3.embedding_length': text('8') },
      'qwen3.embedding_length must be a whole number, got string 8',
    ],
    [
      'values of another width',
      { 'qwen3.attention.value_length': u32(16) },
      'qwen3.attention.value_length 16 is not supported; it must equal the width of the heads, 4',
    ],
    [
      'another kind of tokenizer',
      { 'tokenizer.ggml.model': text('bert') },
      'tokenizer.ggml.model "bert" is not supported',
    ],
    ['no split', { 'tokenizer.ggml.pre': undefined }, 'has no tokenizer.ggml.pre'],
    [
      'a split that nobody knows',
      { 'tokenizer.ggml.pre': text('viking') },
      'tokenizer.ggml.pre "viking" is not a known pre-tokenizer; known: gpt-2, ',
    ],
    [
      'types of other tokens',
      { 'tokenizer.ggml.token_type': { kind: 'int32s', value: [1] } },
      'tokenizer.ggml.token_type has 1 entries, but tokenizer.ggml.tokens has 4',
    ],
    [
      'a type of token',
      { 'tokenizer.ggml.token_type': { kind: 'int32s', value: [1, 1, 1, 9] } },
      'unknown tokenizer.ggml.token_type 9 of token 3; known: 1, 2, 3, 4, 5, 6',
    ],
    [
      'a token for a byte',
      { 'tokenizer.ggml.token_type': { kind: 'int32s', value: [1, 6, 1, 1] } },
      'token 1 is a byte token',
    ],
    [
      'a token twice',
      { 'tokenizer.ggml.tokens': texts(['a', 'b', 'a', '<e>']) },
      'tokenizer.ggml.tokens 0 and 2 are both "a"',
    ],
    [
      'a merge of one',
      { 'tokenizer.ggml.merges': texts(['ab']) },
      'tokenizer.ggml.merges 0 must be two tokens separated by a space, got "ab"',
    ],
    ['no merges', { 'tokenizer.ggml.merges': undefined }, 'has no tokenizer.ggml.merges'],
    [
      'an end beyond the vocabulary',
      { 'tokenizer.ggml.eos_token_id': u32(4) },
      'tokenizer.ggml.eos_token_id is 4, but the vocabulary has 4 tokens',
    ],
    [
      'an end after every text',
      { 'tokenizer.ggml.add_eos_token': bool(true) },
      'tokenizer.ggml.add_eos_token is true',
    ],
    [
      'a start that is not named',
      { 'tokenizer.ggml.add_bos_token': bool(true) },
      'tokenizer.ggml.bos_token_id is missing',
    ],
  ]
  test.each(cases)('rejects %s by name', async (_, changed, message) => {
    const path = await write(changed)
    await expect(readAll(path)).rejects.toThrow(message)
    await expect(readAll(path)).rejects.toThrow(`${path}: `)
  })

  test('rejects an unexpected tensor and rope divisors by name', async () => {
    const row = { type: 'F32', shape: [2], bytes: new Uint8Array(8) }
    await expect(readAll(await write({}, [{ ...row, name: 'blk.0.attn_q.bias' }]))).rejects.toThrow(
      'unexpected tensor "blk.0.attn_q.bias" for a qwen3 model of 1 layers',
    )
    await expect(readAll(await write({}, [{ ...row, name: 'blk.1.attn_norm.weight' }]))).rejects.toThrow(
      'unexpected tensor "blk.1.attn_norm.weight"',
    )
    await expect(readAll(await write({}, [{ ...row, name: 'rope_freqs.weight' }]))).rejects.toThrow(
      'tensor "rope_freqs.weight" has an unsupported rope scaling',
    )
  })

  test('rejects queries that are not pairs of heads by name', async () => {
    const metadata = Object.entries(whole).map(
      ([key, value]) => [key.replace('qwen3', 'llama'), value] as const,
    )
    const path = join(directory, 'pairs.gguf')
    const odd = {
      name: 'blk.0.attn_q.weight',
      type: 'F32',
      shape: [6, 8],
      bytes: new Uint8Array(192),
    } as const
    await writeGguf(path, {
      metadata: { ...Object.fromEntries(metadata), 'general.architecture': text('llama') },
      tensors: [embedding, odd],
    })
    await expect(openCheckpoint(path)).rejects.toThrow(
      'tensor "blk.0.attn_q.weight" has 6 rows, which do not divide into pairs of 2 heads',
    )
  })
})
