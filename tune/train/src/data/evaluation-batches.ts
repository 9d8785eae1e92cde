/** Micro-batches of evaluation documents, which are not trained on. */
import { createRandom } from '../random.ts'
import { fillBatch, type Batch, type BatchOptions } from './batches.ts'
import type { Document } from './documents.ts'
import { packRows } from './pack.ts'

/**
 * Divides the indices of `length` documents: `split` of them are for evaluation, or below 1 that share. The
 * selection is a function of the seed.
 */
export function splitIndices(
  length: number,
  split: number,
  seed: number,
): { training: number[]; evaluation: number[] } {
  const count = split < 1 ? Math.max(1, Math.round(length * split)) : Math.round(split)
  const all = Array.from({ length }, (_, i) => i)
  const kept = new Set(
    createRandom(seed, ...new TextEncoder().encode('evaluation'))
      .shuffle(all)
      .slice(0, count),
  )
  return { training: all.filter(i => !kept.has(i)), evaluation: all.filter(i => kept.has(i)) }
}

/** Every document once. Rows of padding fill the last micro-batch. */
export function evaluationBatches(documents: readonly Document[], options: BatchOptions): Batch[] {
  const { batchSize, maxSeqLength, packing } = options
  const rows = packing
    ? packRows(
        documents.map(({ tokens }) => tokens.length),
        maxSeqLength,
      ).map(row => row.flatMap(i => documents[i] ?? []))
    : documents.map(document => [document])
  return Array.from({ length: Math.ceil(rows.length / batchSize) }, (_, b) =>
    fillBatch(
      Array.from({ length: batchSize }, (__, i) => rows[b * batchSize + i] ?? []),
      options,
    ),
  )
}
