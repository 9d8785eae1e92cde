import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadTokenizer, type ModelTokenizer } from '@cairn-tune/weights'
import { adapterRows } from './data.ts'
import { END_OF_TEXT, trainTokenizer } from './train-tokenizer.ts'

const corpus = adapterRows({ problems: 200, seed: 3 }).map(({ prompt, completion }) => prompt + completion)
let directory: string
let tokenizer: ModelTokenizer
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-tokenizer-'))
  for (const [name, text] of Object.entries(trainTokenizer(corpus, 700)))
    await writeFile(join(directory, name), text)
  tokenizer = await loadTokenizer(directory)
})
afterAll(() => rm(directory, { recursive: true }))

test('decodes to the same text, whether the corpus contained it or not', () => {
  for (const text of [...corpus.slice(0, 50), 'Ünknown wörds, 中文 and\ttabs \n\n 🙂'])
    expect(tokenizer.decode(tokenizer.encodeDocument(text))).toBe(text)
})

test('frequent words and single digits are one token, and a space before a number is a token of its own', () => {
  expect(tokenizer.encodeDocument('Question: 407 de lei').map(id => tokenizer.decode([id]))).toEqual([
    'Question',
    ':',
    ' ',
    '4',
    '0',
    '7',
    ' de',
    ' lei',
  ])
})

test('an empty prompt has no tokens, and the end-of-text token is the first one', () => {
  expect(tokenizer.encodeDocument('')).toEqual([])
  expect(tokenizer.eosTokenId).toBe(END_OF_TEXT)
})

test('a corpus in another order gives the same tokenizer', () => {
  expect(trainTokenizer(corpus.toReversed(), 700)).toEqual(trainTokenizer(corpus, 700))
})
