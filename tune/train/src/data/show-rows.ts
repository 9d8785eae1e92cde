/** Rows of a data set as a run tokenises them, for people who want to see which tokens are trained. */
import { loadTokenizer, resolveRepo, type ModelTokenizer, type ResolveOptions } from '@cairn-tune/weights'
import { tokenizeExample, type DocumentOptions, type Outcome } from './documents.ts'
import { loadDataset } from './load-dataset.ts'
import { summarise, type Skipped, type SkipSummary } from './skips.ts'

/** Text of neighbouring tokens, which are all trained or all not. */
type RowPart = { text: string; tokens: number; isTrained: boolean }
export type ShownRow = {
  /** The file and line, or the row. */ where: string
  parts: RowPart[]
  tokens: number
  trained: number
  /** Whether the end of the row does not fit max_seq_length. */ isCut: boolean
  /** Why a run skips the row, or drops it because nothing is trained. */ reason?: string
  isSkipped: boolean
}
export type ShownRows = {
  source: string
  rows: ShownRow[]
  /** Counts of the whole data set. */
  examples: number
  tokens: number
  trained: number
  truncated: number
  /** Rows in which nothing is trained. */ untrained: number
  skipped: SkipSummary
}

type ShowOptions = Pick<DocumentOptions, 'maxSeqLength' | 'trainOn'> & {
  dataset: string
  model: string
  split?: string
  columns?: readonly string[]
  /** The text of a template instead of that of the model. */ chatTemplate?: string
  /** Whether the example at this index is among the rows that are returned. */
  isShown: (index: number) => boolean
  hub: ResolveOptions
}

export async function readRows(options: ShowOptions): Promise<ShownRows> {
  const { dataset, split, columns, hub } = options
  const directory = await resolveRepo('model', options.model, hub)
  const tokenizer = await loadTokenizer(directory, options.chatTemplate)
  const { examples, source, skipped, placeOf } = await loadDataset(dataset, {
    ...hub,
    seed: 0,
    badRows: 'skip',
    ...(split === undefined ? {} : { split }),
    ...(columns === undefined ? {} : { columns }),
  })
  const found: Omit<ShownRows, 'skipped'> = {
    source,
    rows: [],
    examples: examples.length,
    tokens: 0,
    trained: 0,
    truncated: 0,
    untrained: 0,
  }
  const refused: Skipped[] = []
  for (const [index, example] of examples.entries()) {
    const row = showRow(
      placeOf(index),
      tokenizeExample(example, index, tokenizer, { ...options, tooLong: 'truncate' }),
      tokenizer,
    )
    found.tokens += row.tokens
    found.trained += row.trained
    found.truncated += Number(row.isCut)
    found.untrained += Number(!row.isSkipped && row.trained === 0)
    if (row.isSkipped && row.reason !== undefined) refused.push({ where: row.where, reason: row.reason })
    if (options.isShown(index)) found.rows.push(row)
  }
  return { ...found, skipped: summarise([...skipped, ...refused]) }
}

function showRow(where: string, made: Outcome, tokenizer: Pick<ModelTokenizer, 'decode'>): ShownRow {
  if (made.kind !== 'document') {
    const isSkipped = made.kind === 'refused'
    const isCut = made.kind === 'dropped' && made.isTruncated
    return { where, parts: [], tokens: 0, trained: 0, isCut, isSkipped, reason: made.reason }
  }
  const { tokens, isTrained } = made.document
  const parts: RowPart[] = []
  for (let start = 0; start < tokens.length;) {
    let end = start + 1
    while (end < tokens.length && isTrained[end] === isTrained[start]) end++
    const text = tokenizer.decode([...tokens.subarray(start, end)])
    parts.push({ text, tokens: end - start, isTrained: isTrained[start] === 1 })
    start = end
  }
  return {
    where,
    parts,
    tokens: tokens.length,
    trained: isTrained.reduce((sum, flag) => sum + flag, 0),
    isCut: made.isTruncated,
    isSkipped: false,
  }
}
