/** The trained tokens of a row with prompt and completion are those that TRL's SFTTrainer labels. */
import { readFileSync } from 'node:fs'
import { loadTokenizer } from '@cairn-tune/weights'
import { QWEN3_DIRECTORY } from '@cairn-tune/weights/test/qwen3-tokenizer'
import { expect, test } from 'vitest'
import { tokenizeExamples } from '../src/data/documents.ts'
import { readExamples } from '../src/data/shape-reader.ts'

type Row = { row: { prompt: unknown; completion: unknown }; ids: number[]; mask: number[] }
const { rows } = JSON.parse(
  readFileSync(new URL('reference/completion-masks.json', import.meta.url), 'utf8'),
) as { rows: Row[] }
const qwen3 = await loadTokenizer(QWEN3_DIRECTORY)

function tokenize({ row }: Row, trainOn: 'completion' | 'assistant') {
  const { examples } = readExamples([{ where: 'here', values: row }])
  const { documents } = tokenizeExamples(examples, qwen3, { maxSeqLength: 512, trainOn, tooLong: 'error' })
  const [{ tokens, isTrained } = expect.unreachable()] = documents
  return { ids: [...tokens], mask: [...isTrained] }
}

/** Promise T4.2: Completion labels equal those of TRL. */
test.each(rows.map(one => [JSON.stringify(one.row), one] as const))('labels like TRL: %s', (_, one) => {
  expect(tokenize(one, 'completion')).toEqual({ ids: one.ids, mask: one.mask })
})

test('a completion of several turns also trains on the turns between the assistant’s', () => {
  const several = rows.find(({ row }) => (row.completion as unknown[]).length === 3) ?? expect.unreachable()
  const { mask } = tokenize(several, 'assistant')
  expect(mask).not.toEqual(several.mask)
  expect(mask.filter(Boolean).length).toBeLessThan(several.mask.filter(Boolean).length)
})
