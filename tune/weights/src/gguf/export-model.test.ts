import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCheckpoint } from '../open-checkpoint.ts'
import { encodeFloats } from '../float-values.ts'
import { readModelText } from '../model-texts.ts'
import { writeAdapter } from '../peft-adapter.ts'
import { writeCheckpoint } from '../safetensors-writer.ts'
import { exportGgufAdapter } from './export-adapter.ts'
import { exportGgufModel, type ModelToExport } from './export-model.ts'
import { openGguf, type GgufFile } from './gguf-file.ts'
import { decodeGguf } from './tensor-types.ts'

const reference = (name: string) => fileURLToPath(new URL(`../../test/reference/${name}`, import.meta.url))
const goldenOf = (arch: string) => reference(`gguf/${arch}.gguf`)
let directory: string
let written = 0
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-export-'))
})
afterAll(() => rm(directory, { recursive: true }))
const newFile = () => join(directory, `${written++}.gguf`)

/** The values that make_models.py writes. */
async function describeGolden(architecture: 'llama' | 'qwen3'): Promise<ModelToExport> {
  const model = goldenOf(architecture)
  const checkpoint = await openCheckpoint(model)
  const weights = [...checkpoint.tensors.values()].map(({ name, shape }) => ({ name, shape }))
  await checkpoint.close()
  const isLlama = architecture === 'llama'
  const config = {
    model_type: architecture,
    vocab_size: 432,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: isLlama ? 1 : 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 8,
    rms_norm_eps: isLlama ? 1e-5 : 1e-6,
    max_position_embeddings: 256,
    eos_token_ids: isLlama ? [2, 0] : [2],
    experts: undefined,
    layers: [],
    biases: [],
    attention_scale: 8 ** -0.5,
    embedding_multiplier: 1,
    residual_multiplier: 1,
    logits_scale: 1,
    ropes: [{ theta: isLlama ? 500_000 : 1e6, width: 8, scaling: undefined, attention_factor: 1 }],
  }
  return { model, config, architecture, weights }
}

const same = async (a: GgufFile, b: GgufFile, name: string) =>
  expect(Buffer.compare(await a.read(a.tensors.get(name)!), await b.read(b.tensors.get(name)!)), name).toBe(0)

describe('exporting a model from a golden file', () => {
  test('llama: query pairs, blocks, rope divisors and tokenizer match the golden file', async () => {
    const output = newFile()
    const { notes } = await exportGgufModel(await describeGolden('llama'), output, 'q8_0')
    expect(notes).toEqual([])
    const [own, golden] = [await openGguf(output), await openGguf(goldenOf('llama'))]
    expect([...own.tensors.keys()].toSorted()).toEqual([...golden.tensors.keys()].toSorted())
    for (const [name, { type, shape }] of golden.tensors) {
      expect(own.tensors.get(name)).toMatchObject({ type, shape })
      if (name !== 'rope_freqs.weight') await same(own, golden, name)
    }
    const [divisors, expected] = await Promise.all(
      [own, golden].map(async file => [
        ...decodeGguf('F32', await file.read(file.tensors.get('rope_freqs.weight')!)),
      ]),
    )
    divisors?.forEach((value, i) => expect(value).toBeCloseTo(expected?.[i] ?? NaN, 4))
    for (const name of [
      'config.json',
      'tokenizer.json',
      'tokenizer_config.json',
      'chat_template.jinja',
    ] as const)
      expect(await readModelText(output, name), name).toBe(await readModelText(goldenOf('llama'), name))
    expect(own.metadata.text('general.type')).toBe('model')
    expect(own.metadata.whole('general.file_type')).toBe(7)
  })

  test('as-stored keeps plain types, writes blocks as bf16 and reports that', async () => {
    const output = newFile()
    const { notes } = await exportGgufModel(await describeGolden('qwen3'), output, 'as-stored')
    expect(notes).toEqual([
      '2 matrices stored as Q8_0 are decoded and written as BF16, because export does not write that type',
    ])
    const [own, golden] = [await openGguf(output), await openGguf(goldenOf('qwen3'))]
    for (const [name, { type }] of golden.tensors)
      if (type === 'Q8_0') expect(own.tensors.get(name)?.type).toBe('BF16')
      else await same(own, golden, name)
  })

  test('a Q8_0 file has rows that are not whole blocks of 32 as bf16, and the export reports that', async () => {
    const given = await describeGolden('qwen3')
    const model = join(directory, 'narrow')
    await cp(reference('tokenizer'), model, { recursive: true })
    await writeFile(join(model, 'config.json'), '{}')
    const weights = given.weights.map(({ name, shape }) => ({
      name,
      shape: shape.length === 1 ? shape : [...shape.slice(0, -1), 24],
    }))
    await writeCheckpoint(
      model,
      weights.map(({ name, shape }) => ({
        name,
        dtype: 'BF16',
        shape,
        bytes: encodeFloats('BF16', new Float32Array(shape.reduce((a, b) => a * b, 1))),
      })),
    )
    const { notes } = await exportGgufModel({ ...given, model, weights }, newFile(), 'q8_0')
    expect(notes).toEqual([
      "15 matrices whose rows of 24 elements are not a multiple of Q8_0's block of 32 are written as BF16",
    ])
  })
})

test('an adapter has GGUF names, permuted rows of B, and an alpha of scale times rank', async () => {
  const given = await describeGolden('llama')
  const adapter = join(directory, 'adapter')
  const linear = 'model.layers.0.self_attn.k_proj'
  const config = {
    baseModel: 'x',
    lora_rank: 2,
    lora_alpha: 6,
    lora_dropout: 0,
    lora_target_modules: ['k_proj'],
  }
  const a = {
    name: `${linear}.lora_A.weight`,
    shape: [2, 32] as const,
    values: new Float32Array(64).fill(0.5),
  }
  const b = {
    name: `${linear}.lora_B.weight`,
    shape: [16, 2] as const,
    values: Float32Array.from({ length: 32 }, (_, i) => Math.floor(i / 2)),
  }
  await writeAdapter(adapter, config, [a, b])
  const output = newFile()
  await exportGgufAdapter(given, adapter, output)
  const file = await openGguf(output)
  expect(file.metadata.text('general.type')).toBe('adapter')
  expect(file.metadata.text('general.architecture')).toBe('llama')
  expect(file.metadata.text('adapter.type')).toBe('lora')
  expect(file.metadata.number('adapter.lora.alpha')).toBe(6)
  expect([...file.tensors.keys()]).toEqual(['blk.0.attn_k.weight.lora_a', 'blk.0.attn_k.weight.lora_b'])
  const rows = async (side: string) =>
    decodeGguf('F32', await file.read(file.tensors.get(`blk.0.attn_k.weight.lora_${side}`)!))
  expect([...(await rows('a'))]).toEqual([...a.values])
  // Two heads of eight: row i of one half is next to row i of the other.
  const order = [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]
  expect([...(await rows('b'))]).toEqual(order.flatMap(row => [row, row]))

  await writeAdapter(adapter, config, [a, { ...b, shape: [8, 2], values: b.values.subarray(16) }])
  await expect(exportGgufAdapter(given, adapter, newFile())).rejects.toThrow(
    `"${linear}.lora_B.weight" is (8, 2), but ${given.model} needs (16, 2); the adapter belongs to ` +
      'another model',
  )
  const other = [a, b].map(tensor => ({ ...tensor, name: tensor.name.replace('layers.0', 'layers.7') }))
  await writeAdapter(adapter, config, other)
  await expect(exportGgufAdapter(given, adapter, newFile())).rejects.toThrow(
    '"model.layers.7.self_attn.k_proj.lora_A.weight" does not match a weight of',
  )
})

/** Promise T3.4: An export rejects by name what GGUF cannot represent. */
describe('rejects by name what GGUF cannot represent', () => {
  type Json = Record<string, unknown>
  /** Exports the small Qwen3 with a changed tokenizer.json, config.json or weight. */
  async function exportWith(change: {
    tokenizer?: (json: Json) => Json
    config?: Json
    given?: Partial<ModelToExport>
    ends?: number[]
    type?: 'f16'
    largest?: number
  }): Promise<unknown> {
    const given = await describeGolden('qwen3')
    const model = await mkdtemp(join(directory, 'model-'))
    await cp(reference('tokenizer'), model, { recursive: true })
    const path = join(model, 'tokenizer.json')
    const json = JSON.parse(await readFile(path, 'utf8')) as Json
    await writeFile(path, JSON.stringify(change.tokenizer?.(json) ?? json))
    await writeFile(join(model, 'config.json'), JSON.stringify(change.config ?? {}))
    await writeCheckpoint(
      model,
      given.weights.map(({ name, shape }) => ({
        name,
        dtype: 'F32',
        shape,
        bytes: encodeFloats(
          'F32',
          new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(change.largest ?? 1),
        ),
      })),
    )
    const config = { ...given.config, eos_token_ids: change.ends ?? given.config.eos_token_ids }
    return exportGgufModel(
      { ...given, model, config, ...change.given },
      newFile(),
      change.type ?? 'as-stored',
    )
  }
  const inModel = (more: Json) => (json: Json) => ({
    ...json,
    model: { ...(json['model'] as Json), ...more },
  })

  const TOKEN = {
    content: 'a',
    single_word: false,
    lstrip: true,
    rstrip: false,
    normalized: false,
    special: true,
  }

  test('exports the unchanged model', async () => {
    await expect(exportWith({})).resolves.toEqual({ tensors: 24, notes: [] })
  })

  const split = { type: 'Split', pattern: { Regex: '\\d+' }, behavior: 'Isolated', invert: false }
  const cases: [string, Parameters<typeof exportWith>[0], string | RegExp][] = [
    [
      'a split that has no name',
      { tokenizer: json => ({ ...json, pre_tokenizer: split }) },
      /GGUF has no name for its pre_tokenizer: \[\{"type":"Split","pattern":\{"Regex":"\\\\d\+"\}/,
    ],
    [
      'no split',
      { tokenizer: json => ({ ...json, pre_tokenizer: null }) },
      'no name for its pre_tokenizer: []',
    ],
    [
      'a split that merges otherwise',
      { tokenizer: inModel({ ignore_merges: true }) },
      'no name for its pre_tokenizer with ignore_merges: ',
    ],
    [
      'another kind of tokenizer',
      { tokenizer: inModel({ type: 'Unigram' }) },
      /only byte-level BPE can be written to a GGUF file: [^]*model\.type/,
    ],
    ['bytes as tokens', { tokenizer: inModel({ byte_fallback: true }) }, /model\.byte_fallback/],
    [
      'another normalizer',
      { tokenizer: json => ({ ...json, normalizer: { type: 'Lowercase' } }) },
      /at normalizer/,
    ],
    [
      'a token that takes the space beside it',
      {
        tokenizer: json => {
          const { vocab } = json['model'] as { vocab: Record<string, number> }
          return {
            ...json,
            added_tokens: [...(json['added_tokens'] as Json[]), { ...TOKEN, id: vocab['a'] }],
          }
        },
      },
      /added_tokens\[\d\]\.lstrip/,
    ],
    [
      'something around every text',
      {
        tokenizer: json => ({
          ...json,
          post_processor: { type: 'BertProcessing', sep: ['a', 1], cls: ['a', 1] },
        }),
      },
      'cannot write its post_processor to a GGUF file: {"type":"BertProcessing","sep":["a",1],"cls":["a",1]}',
    ],
    [
      'a token beyond the model',
      {
        tokenizer: json => {
          const { vocab } = json['model'] as { vocab: object }
          const added = json['added_tokens'] as { content: string; id: number }[]
          const known = Object.fromEntries(added.map(({ content, id }) => [content, id]))
          return inModel({ vocab: { ...vocab, ...known, beyond: 432 } })(json)
        },
      },
      'token "beyond" has id 432, but the model has only 432 tokens',
    ],
    ['too many ends', { ends: [5, 6, 7] }, 'the model has 4 end tokens, but a GGUF file can name only 3'],
    [
      'scaled positions',
      { config: { rope_scaling: { rope_type: 'yarn' } } },
      'cannot write rope scaling "yarn" to a GGUF file',
    ],
    [
      'half of Llama 3’s scaling',
      { config: { rope_scaling: { rope_type: 'llama3', factor: 8 } } },
      'rope_scaling has no low_freq_factor',
    ],
    [
      'another family',
      { given: { architecture: 'mamba' } },
      'export of qwen3 models to GGUF is not supported; supported: llama, qwen2, qwen3',
    ],
    [
      'a weight without a name',
      { given: { weights: [{ name: 'model.extra.weight', shape: [1] }] } },
      '"model.extra.weight" has no GGUF name in qwen3',
    ],
    [
      'numbers beyond f16',
      { type: 'f16', largest: 1e5 },
      'tensor "model.embed_tokens.weight" has numbers beyond 65504, the largest of f16; use bf16',
    ],
  ]
  test.each(cases)('%s', async (_, change, message) => {
    await expect(exportWith(change)).rejects.toThrow(message)
  })
})
