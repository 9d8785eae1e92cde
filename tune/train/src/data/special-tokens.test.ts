/** Special tokens that a tokenizer adds to every text, in rows of each format. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadTokenizer, type ModelTokenizer } from '@cairn-tune/weights'
import { expect, test } from 'vitest'
import { byteTokenizerFiles } from '../byte-tokenizer.ts'
import { tokenizeAnswer } from './answers.ts'
import { tokenizeExamples } from './documents.ts'
import { readExamples } from './shape-reader.ts'

const [START, END] = [1, 2]

/** The tokenizer of bytes, whose post-processor adds those tokens around a text. */
async function loadWith(single: readonly string[], hasTemplate = true): Promise<ModelTokenizer> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-special-'))
  const files = byteTokenizerFiles()
  const processor = {
    type: 'TemplateProcessing',
    single: single.map(id =>
      id === 'A' ? { Sequence: { id, type_id: 0 } } : { SpecialToken: { id, type_id: 0 } },
    ),
    pair: [],
    special_tokens: Object.fromEntries(
      ['<|im_start|>', '<|im_end|>'].map((id, i) => [id, { id, ids: [i + 1], tokens: [id] }]),
    ),
  }
  const tokenizer = { ...(JSON.parse(files['tokenizer.json'] ?? '') as object), post_processor: processor }
  try {
    for (const [name, text] of Object.entries({ ...files, 'tokenizer.json': JSON.stringify(tokenizer) }))
      if (hasTemplate || name !== 'chat_template.jinja') await writeFile(join(directory, name), text)
    return await loadTokenizer(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

const both = ['<|im_start|>', 'A', '<|im_end|>']
const bytes = (text: string) => [...Buffer.from(text)].map(byte => byte + 3)

function idsOf(tokenizer: ModelTokenizer, values: Record<string, unknown>): number[] | undefined {
  const { examples } = readExamples([{ where: 'row', values }])
  const { documents } = tokenizeExamples(examples, tokenizer, {
    maxSeqLength: 512,
    trainOn: 'assistant',
    tooLong: 'error',
  })
  return documents[0] && [...documents[0].tokens]
}

test('no end token lies between a prompt and its completion', async () => {
  const tokenizer = await loadWith(both)
  const { examples } = readExamples([{ where: 'row', values: { prompt: 'abc', completion: 'de' } }])
  const { documents } = tokenizeExamples(examples, tokenizer, {
    maxSeqLength: 64,
    trainOn: 'assistant',
    tooLong: 'error',
  })
  expect([...(documents[0]?.tokens ?? [])]).toEqual([START, ...bytes('abcde'), END])
  expect([...(documents[0]?.isTrained ?? [])]).toEqual([0, 0, 0, 0, 1, 1, 1])
  expect(tokenizeAnswer({ kind: 'texts', prompt: 'abc', answer: 'de' }, tokenizer).ids).toEqual([
    START,
    ...bytes('abcde'),
    END,
  ])
})

test('nor between a question or an instruction and its answer, for a model without a template', async () => {
  const tokenizer = await loadWith(both, false)
  expect(idsOf(tokenizer, { question: 'a', answer: 'b' })).toEqual([
    START,
    ...bytes('Question: a\nAnswer: b'),
    END,
  ])
  const instruction = idsOf(tokenizer, { instruction: 'a', output: 'b' }) ?? []
  expect([instruction[0], instruction.at(-1)]).toEqual([START, END])
  expect(instruction.filter(id => id === END)).toHaveLength(1)
})

test('a text that was rendered before gets no second start or end token', async () => {
  for (const tokenizer of [await loadWith(both), await loadWith(['<|im_start|>', 'A'])]) {
    const whole = [START, ...bytes('abc'), END]
    expect(idsOf(tokenizer, { text: 'abc' })).toEqual(whole)
    expect(idsOf(tokenizer, { text: '<|im_start|>abc' })).toEqual(whole)
  }
  expect(idsOf(await loadWith(['<|im_start|>', 'A']), { text: '<|im_start|>abc<|im_end|>' })).toEqual([
    START,
    ...bytes('abc'),
    END,
  ])
})
