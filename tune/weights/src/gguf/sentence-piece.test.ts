import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readModelText } from '../model-texts.ts'
import { loadTokenizer } from '../tokenizer.ts'
import { openGguf } from './gguf-file.ts'
import { TOKEN_TYPES, type TokenType } from './tokens.ts'
import { readVocabulary } from './vocabulary.ts'
import { bool, text, texts, u32, writeGguf, type MetadataValue } from './writer.ts'

const reference = (name: string) =>
  fileURLToPath(new URL(`../../test/reference/gguf/${name}`, import.meta.url))
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-pieces-'))
})
afterAll(() => rm(directory, { recursive: true }))

type Goldens = Record<string, { text: string; ids: number[]; decoded: string }[]>
const goldens = JSON.parse(await readFile(reference('pieces.json'), 'utf8')) as Goldens

describe.each(Object.entries(goldens))('%s', (name, rows) => {
  /**
   * Promise T3.3: A GGUF SentencePiece tokenizer matches llama.cpp except for documented cases, or is
   * rejected by name.
   */
  test('gives the ids and texts of llama.cpp', async () => {
    const tokenizer = await loadTokenizer(reference(`${name}.gguf`))
    expect(rows).toHaveLength(60)
    for (const { text: given, ids, decoded } of rows) {
      expect(tokenizer.encode(given), JSON.stringify(given)).toEqual(ids)
      expect(tokenizer.decode(ids), JSON.stringify(given)).toBe(decoded)
    }
  })

  test('starts documents with its start token and has its end token', async () => {
    const tokenizer = await loadTokenizer(reference(`${name}.gguf`))
    expect(tokenizer.encodeDocument('Ana')).toEqual([1, ...tokenizer.encode('Ana')])
    expect(tokenizer.idOf('<unk>')).toBe(0)
    expect([tokenizer.bosTokenId, tokenizer.eosTokenId]).toEqual([1, 2])
  })
})

const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
type Row = [text: string, score: number, type?: TokenType]
const int32s = (value: number[]): MetadataValue => ({ kind: 'int32s', value })
let written = 0
/** A file of these tokens after <unk>, <s>, </s> and 256 bytes, so that the first has id 259. */
async function write(
  rows: readonly Row[],
  changed: Record<string, MetadataValue | undefined> = {},
): Promise<string> {
  const path = join(directory, `${written++}.gguf`)
  const all: Row[] = [
    ['<unk>', 0, 'unknown'],
    ['<s>', 0, 'control'],
    ['</s>', 0, 'control'],
    ...bytes.map((byte): Row => [byte, 0, 'byte']),
    ...rows,
  ]
  const metadata: Record<string, MetadataValue | undefined> = {
    'general.architecture': text('llama'),
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': texts(all.map(([one]) => one)),
    'tokenizer.ggml.scores': int32s(all.map(([, score]) => score)),
    'tokenizer.ggml.token_type': int32s(all.map(([, , type = 'normal']) => TOKEN_TYPES[type])),
    'tokenizer.ggml.add_space_prefix': bool(false),
    ...changed,
  }
  await writeGguf(path, {
    metadata: Object.fromEntries(
      Object.entries(metadata).filter((entry): entry is [string, MetadataValue] => entry[1] !== undefined),
    ),
    tensors: [],
  })
  return path
}
const letters: Row[] = [...'abc▁'].map((letter, i) => [letter, -100 - i])

describe('scores', () => {
  const idsOf = async (rows: readonly Row[], given: string) =>
    (await loadTokenizer(await write([...letters, ...rows]))).encode(given)

  test('decide the merge order, whatever the ids are', async () => {
    expect(
      await idsOf(
        [
          ['ab', -2],
          ['bc', -1],
        ],
        'abc',
      ),
    ).toEqual([259, 264])
    expect(
      await idsOf(
        [
          ['ab', -1],
          ['bc', -2],
        ],
        'abc',
      ),
    ).toEqual([263, 261])
    // Not the longest: abc can only be merged from a and bc.
    expect(
      await idsOf(
        [
          ['ab', -1],
          ['bc', -2],
          ['abc', -3],
        ],
        'abc',
      ),
    ).toEqual([265])
  })

  test('that are equal merge runs of one character from the left', async () => {
    const runs: Row[] = [2, 3].map(length => ['▁'.repeat(length), -1e9])
    expect(await idsOf(runs, ' '.repeat(4))).toEqual([264, 262])
    expect(await idsOf(runs, 'a     b')).toEqual([259, 264, 263, 260])
  })

  test('that are equal otherwise are rejected by the ids of both tokens', async () => {
    await expect(
      idsOf(
        [
          ['ab', -1],
          ['bc', -1],
        ],
        'abc',
      ),
    ).rejects.toThrow(
      'tokenizer.ggml.scores of tokens 263 and 264 are both -1, so the merge order would depend on the text',
    )
    // Tokens found before any merge take no part in the merge order.
    expect(
      await idsOf(
        [
          ['ab', -1, 'userDefined'],
          ['bc', -1],
        ],
        'abcbc',
      ),
    ).toEqual([263, 261, 264])
  })
})

test('encodes characters without a token as bytes', async () => {
  const tokenizer = await loadTokenizer(await write(letters))
  expect(tokenizer.encode('aé')).toEqual([259, 3 + 0xc3, 3 + 0xa9])
  expect(tokenizer.decode([259, 3 + 0xc3, 3 + 0xa9, 262, 260])).toBe('aé b')
})

test('control tokens named as turn ends end answers, with those of metadata keys first', async () => {
  const path = await write([...letters, ['<|end|>', 0, 'control'], ['<EOT>', 0, 'normal']], {
    'tokenizer.ggml.eos_token_id': u32(262),
  })
  const tokenizer = await loadTokenizer(path)
  expect(tokenizer.eosTokenId).toBe(262)
  const file = await openGguf(path)
  expect(readVocabulary(path, file.metadata).ends).toEqual([262, 2, 263])
  await file.close()
})

test.each<[string, Row[], Record<string, MetadataValue | undefined>, string]>([
  ['no scores', [], { 'tokenizer.ggml.scores': undefined }, 'has no tokenizer.ggml.scores'],
  [
    'scores of other tokens',
    [],
    { 'tokenizer.ggml.scores': int32s([1]) },
    'tokenizer.ggml.scores has 1 entries, but tokenizer.ggml.tokens has 263',
  ],
  [
    'a byte without a token',
    [],
    { 'tokenizer.ggml.token_type': int32s(Array<number>(263).fill(1)) },
    'has no token of type 6 for byte <0x00>, so some texts cannot be tokenized',
  ],
  [
    'a character without a token',
    [['ax', -1]],
    {},
    'token 263, "ax", contains the character "x", which is not a token; that is not supported',
  ],
  [
    'another kind of SentencePiece',
    [],
    { 'tokenizer.ggml.model': text('t5') },
    'tokenizer.ggml.model "t5" is not supported; supported: "gpt2" (byte-level BPE) and "llama" (SentencePiece BPE)',
  ],
])('rejects %s by name', async (_, rows, changed, message) => {
  const path = await write([...letters, ...rows], changed)
  await expect(readModelText(path, 'tokenizer.json')).rejects.toThrow(`${path}: ${message}`)
})
