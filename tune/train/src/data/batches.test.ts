import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { loadTokenizer } from '@cairn-tune/weights'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  IGNORED,
  START,
  countSteps,
  createBatches,
  padCuSeqlens,
  type Batch,
  type BatchOptions,
  type DataPosition,
} from './batches.ts'
import { tokenizeExamples, type Document } from './documents.ts'
import type { Example } from './examples.ts'
import { readExamples } from './shape-reader.ts'
import { packRows } from './pack.ts'

const reference = fileURLToPath(new URL('../../../weights/test/reference/tokenizer', import.meta.url))
const tokenizer = await loadTokenizer(reference)

/** Tokens of document d are 1000·d + i + 1, so that each token identifies its document and position. */
const documentsOf = (lengths: readonly number[]): Document[] =>
  lengths.map((length, d) => ({
    tokens: Int32Array.from({ length }, (_, i) => 1000 * d + i + 1),
    isTrained: Uint8Array.from({ length }, (_, i) => Number(i > 0)),
  }))

const lengthsIn = (row: number) => fc.array(fc.integer({ min: 1, max: row }), { minLength: 1, maxLength: 60 })
const sized = fc.integer({ min: 2, max: 130 }).chain(row => fc.tuple(fc.constant(row), lengthsIn(row)))

test('packs every document whole into exactly one row, and no row exceeds its length', () => {
  fc.assert(
    fc.property(sized, ([rowLength, lengths]) => {
      const rows = packRows(lengths, rowLength)
      expect(rows.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, i) => i))
      for (const row of rows)
        expect(row.reduce((sum, i) => sum + lengths[i]!, 0)).toBeLessThanOrEqual(rowLength)
    }),
  )
})

test('packs by best-fit-decreasing', () => {
  fc.assert(
    fc.property(sized, ([rowLength, lengths]) => {
      const left: number[] = []
      for (const length of lengths.toSorted((a, b) => b - a)) {
        const fitting = left.filter(space => space >= length)
        if (fitting.length === 0) left.push(rowLength - length)
        else left[left.indexOf(Math.min(...fitting))]! -= length
      }
      const spaces = packRows(lengths, rowLength).map(
        row => rowLength - row.reduce((sum, i) => sum + lengths[i]!, 0),
      )
      expect(spaces.toSorted((a, b) => a - b)).toEqual(left.toSorted((a, b) => a - b))
    }),
  )
})

test('packs 10000 documents of typical length into rows that are over 98 % full', () => {
  const lengths = Array.from({ length: 10_000 }, (_, i) => 120 + ((i * 7919) % 340))
  const rows = packRows(lengths, 2048)
  expect(lengths.reduce((sum, length) => sum + length, 0) / (rows.length * 2048)).toBeGreaterThan(0.98)
})

const options = (over: Partial<BatchOptions> = {}): BatchOptions => ({
  maxSeqLength: 16,
  batchSize: 2,
  packing: true,
  seed: 7,
  padTokenId: 0,
  ...over,
})
const take = (
  documents: readonly Document[],
  over: Partial<BatchOptions>,
  count: number,
  from: DataPosition = START,
): { batches: Batch[]; position: DataPosition } => {
  const source = createBatches(documents, options(over))
  const batches: Batch[] = []
  let position = from
  for (let i = 0; i < count; i++) {
    const { batch, next } = source.batchAt(position)
    batches.push(batch)
    position = next
  }
  return { batches, position }
}

test('an epoch contains every token exactly once, packed or not', () => {
  fc.assert(
    fc.property(lengthsIn(16), fc.boolean(), fc.integer({ min: 0, max: 5 }), (lengths, packing, seed) => {
      const documents = documentsOf(lengths)
      const { rowsPerEpoch } = createBatches(documents, options({ packing, seed }))
      const { batches } = take(documents, { packing, seed, batchSize: 1 }, rowsPerEpoch)
      const tokens = batches.flatMap(batch => [...batch.tokens].filter(token => token !== 0))
      expect(tokens.toSorted((a, b) => a - b)).toEqual(
        documents.flatMap(({ tokens }) => [...tokens]).toSorted((a, b) => a - b),
      )
      expect(batches.reduce((sum, batch) => sum + batch.realTokens, 0)).toBe(tokens.length)
      expect(batches.reduce((sum, batch) => sum + batch.trainedTokens, 0)).toBe(
        lengths.reduce((sum, length) => sum + length - 1, 0),
      )
    }),
  )
})

test('positions count up within a document, targets are the next token, and boundaries separate documents', () => {
  fc.assert(
    fc.property(lengthsIn(16), lengths => {
      const documents = documentsOf(lengths)
      const { batches } = take(documents, {}, 3)
      for (const { tokens, targets, positions, cuSeqlens } of batches) {
        expect(cuSeqlens[0]).toBe(0)
        expect(cuSeqlens.at(-1)).toBe(tokens.length)
        for (let s = 0; s + 1 < cuSeqlens.length; s++) {
          const [start, end] = [cuSeqlens[s]!, cuSeqlens[s + 1]!]
          expect(end).toBeGreaterThan(start)
          expect(Math.floor(start / 16)).toBe(Math.floor((end - 1) / 16))
          const own = [...tokens.subarray(start, end)]
          const isPadding = own[0] === 0
          const whole = isPadding ? own : [...documents[Math.floor(own[0]! / 1000)]!.tokens]
          expect(own).toEqual(whole)
          expect([...positions.subarray(start, end)]).toEqual(own.map((_, i) => i))
          expect([...targets.subarray(start, end)]).toEqual(
            own.map((_, i) => (isPadding || i + 1 === own.length ? IGNORED : own[i + 1])),
          )
        }
      }
    }),
  )
})

test('the same seed gives the same batches; another seed or epoch changes the order', () => {
  const documents = documentsOf(Array.from({ length: 40 }, (_, i) => 3 + (i % 9)))
  expect(take(documents, {}, 6).batches).toEqual(take(documents, {}, 6).batches)
  expect(take(documents, {}, 6).batches).not.toEqual(take(documents, { seed: 8 }, 6).batches)
  expect(take(documents, {}, 6).batches).not.toEqual(take(documents, {}, 6, { epoch: 1, row: 0 }).batches)
})

test('a run resumed from any step gets the same batches as an uninterrupted one', () => {
  const documents = documentsOf(Array.from({ length: 23 }, (_, i) => 2 + ((i * 5) % 14)))
  const whole = take(documents, {}, 20).batches
  for (let stop = 0; stop < 20; stop++) {
    const first = take(documents, {}, stop)
    const saved = JSON.parse(JSON.stringify(first.position)) as DataPosition
    expect([...first.batches, ...take(documents, {}, 20 - stop, saved).batches]).toEqual(whole)
  }
})

test('repeats rows if there are fewer than a batch needs', () => {
  const { batches, position } = take(documentsOf([4]), { batchSize: 3 }, 1)
  expect(batches[0]?.realTokens).toBe(12)
  expect(position).toEqual({ epoch: 3, row: 0 })
  expect(() => createBatches([], options())).toThrow('no documents')
})

test('steps cover every epoch', () => {
  expect(countSteps(119 * 8, 2, 2, 4)).toBe(238)
  expect(countSteps(9, 1, 2, 4)).toBe(2)
  expect(countSteps(1, 1, 2, 4)).toBe(1)
})

test('pads boundaries with empty documents', () => {
  const batch = take(documentsOf([4, 4]), { batchSize: 1 }, 1).batches[0]!
  expect([...padCuSeqlens(batch, 6)]).toEqual([0, 4, 8, 16, 16, 16])
  expect(() => padCuSeqlens(batch, 3)).toThrow('4 boundaries do not fit 3')
})

const tokenizeAll = (
  examples: readonly Example[],
  over: Partial<Parameters<typeof tokenizeExamples>[2]> = {},
) =>
  tokenizeExamples(examples, tokenizer, {
    maxSeqLength: 64,
    trainOn: 'assistant',
    tooLong: 'truncate',
    ...over,
  })
const trainedText = ({ tokens, isTrained }: Document) =>
  tokenizer.decode([...tokens].filter((_, i) => isTrained[i] === 1))

test('trains on the answer of a question, on a completion, and on all of a text', () => {
  const { documents } = tokenizeAll([
    { kind: 'question', question: 'How many?', answer: '#### 7' },
    { kind: 'completion', prompt: '12 - 5 =', completion: ' 7' },
    { kind: 'text', text: 'Ana has 12 apples.' },
  ])
  expect(documents.map(trainedText)).toEqual([
    '#### 7<|im_end|>\n',
    ' 7<|im_end|>',
    tokenizer.decode([...documents[2]!.tokens].slice(1)),
  ])
  expect(tokenizer.decode([...documents[2]!.tokens])).toBe('Ana has 12 apples.<|im_end|>')
})

test('without a chat template, a question uses the prompt format of the evaluation', () => {
  const { documents } = tokenizeExamples(
    [{ kind: 'question', question: 'How many?', answer: '#### 7' }],
    { ...tokenizer, chat: undefined },
    { maxSeqLength: 64, trainOn: 'assistant', tooLong: 'error' },
  )
  expect(tokenizer.decode([...documents[0]!.tokens])).toBe('Question: How many?\nAnswer: #### 7<|im_end|>')
  expect(trainedText(documents[0]!)).toBe(' #### 7<|im_end|>')
})

test('train_on all trains on every token but the first', () => {
  const { documents } = tokenizeAll([{ kind: 'completion', prompt: 'ab', completion: 'c' }], {
    trainOn: 'all',
  })
  expect([...documents[0]!.isTrained]).toEqual([...documents[0]!.tokens].map((_, i) => Number(i > 0)))
})

test('truncates and counts a document longer than the row, or rejects it', () => {
  const long: Example = { kind: 'text', text: 'apples '.repeat(100) }
  const cutBeforeAnswer: Example = { kind: 'completion', prompt: 'apples '.repeat(100), completion: ' 7' }
  const made = tokenizeAll([long, cutBeforeAnswer, { kind: 'text', text: 'short' }])
  expect(made).toMatchObject({ truncated: 2, dropped: 1 })
  expect(made.documents.map(({ tokens }) => tokens.length <= 64)).toEqual([true, true])
  expect(() => tokenizeAll([long], { tooLong: 'error' })).toThrow(
    /example 1 has \d+ tokens, more than max_seq_length 64; raise max_seq_length or set too_long: truncate/,
  )
  expect(() => tokenizeAll([cutBeforeAnswer])).toThrow(
    'none of 1 examples has a token to train on within max_seq_length 64',
  )
})

test('reports a conversation that the template cannot render and keeps the others', () => {
  const { documents, refused } = tokenizeAll([
    { kind: 'chat', messages: [{ role: 'assistant', content: 'a', tool_calls: 5 }], tools: undefined },
    { kind: 'text', text: 'b' },
  ])
  expect(documents).toHaveLength(1)
  expect(refused).toEqual([
    {
      index: 0,
      reason: expect.stringContaining('the chat template rejects the conversation: line '),
    },
  ])
})

test('an exported conversation with tools becomes one document that trains on every answer', async () => {
  const goldens = JSON.parse(await readFile(`${reference}/goldens.json`, 'utf8')) as {
    chats: { tools: Record<string, unknown> }
  }
  const { documents } = tokenizeAll(readExamples([{ where: 'x', values: goldens.chats.tools }]).examples, {
    maxSeqLength: 512,
  })
  expect(trainedText(documents[0]!)).toBe(
    '<call>{"name": "add", "arguments": {"a": 1, "b": [2, "ă"]}}<|im_end|>\n12 - 5 = 7\n#### 7<|im_end|>\n',
  )
})
