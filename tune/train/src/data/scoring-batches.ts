/** Micro-batches, in order, of documents whose trained tokens are scored and not trained. */
import { fillBatch, type Batch } from './batches.ts'
import { markSegments, startsOf } from './comparisons.ts'
import type { Document } from './documents.ts'

type Rows = { max_seq_length: number; per_device_train_batch_size: number }

/** Documents [from, from + count) of those given. */
export type ScoringBatch = { batch: Batch; from: number; count: number }

/** Micro-batches with at most `maxBoundaries` boundaries. */
export function* scoringBatches(
  documents: readonly Document[],
  { max_seq_length: maxSeqLength, per_device_train_batch_size: rows }: Rows,
  boundaries: number,
): Generator<ScoringBatch> {
  const maxPerRow = Math.floor((boundaries - 1) / rows) - 1
  if (maxPerRow < 1) throw new Error(`[scoringBatches] too few boundaries for ${rows} rows: ${boundaries}`)
  const filled = rowsInOrder(documents, maxSeqLength, maxPerRow)
  for (let at = 0, from = 0; at < filled.length; at += rows) {
    const own = Array.from({ length: rows }, (_, i) => filled[at + i] ?? [])
    const sequences = own.flat()
    const batch = fillBatch(own, { maxSeqLength, padTokenId: 0 })
    const segments = new Int32Array(batch.tokens.length).fill(-1)
    markSegments(segments, startsOf(own, maxSeqLength), sequences)
    yield { batch: { ...batch, extras: () => ({ segments }) }, from, count: sequences.length }
    from += sequences.length
  }
}

function rowsInOrder(documents: readonly Document[], maxSeqLength: number, maxPerRow: number): Document[][] {
  const rows: Document[][] = []
  let space = 0
  for (const document of documents) {
    const { length } = document.tokens
    const row = rows.at(-1)
    if (row && length <= space && row.length < maxPerRow) {
      row.push(document)
      space -= length
    } else {
      rows.push([document])
      space = maxSeqLength - length
    }
  }
  return rows
}
