/** What data a run has read, and the record of it. */
import { createHash } from 'node:crypto'
import type { ModelTokenizer, resolveRepo } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import type { Batch, BatchSource } from './data/batches.ts'
import type { Comparison } from './data/comparisons.ts'
import type { Document } from './data/documents.ts'
import type { SkipSummary } from './data/skips.ts'

export type Hub = Parameters<typeof resolveRepo>[2]

export type DataRecord = {
  source: string
  examples: number
  documents: number
  truncated: number
  dropped: number
  tokens: number
  /** Rows of the data that are not learned from. */
  skipped: SkipSummary
  /** Documents that are evaluated and not trained on. */
  evaluated: number
  /** Hash of what the model is taught, in order. */
  hash: string
}

export type RunData = {
  batches: BatchSource
  /** Batches of the evaluation, in order; empty if there is none. */
  evaluation: readonly Batch[]
  /** What is compared, in training and in evaluation; empty where examples are learned. */
  units: readonly Comparison[]
  /** No micro-batch has more of them. */
  maxBoundaries: number
  /** Every token that is read, padding too. */
  tokenIds: ReadonlySet<number>
  dataset: DataRecord
}

export type Source = { config: TrainConfig; directory: string; tokenizer: ModelTokenizer; hub: Hub }

/** Every token of some documents, and what rows are filled up with. */
export function idsOf(documents: readonly Pick<Document, 'tokens'>[], padding: number): Set<number> {
  const ids = new Set([padding])
  for (const { tokens } of documents) for (const id of tokens) ids.add(id)
  return ids
}

/** Hash of what the model is taught, in order. */
export function hashOf(documents: readonly Document[]): string {
  const hash = createHash('sha256')
  for (const { tokens, isTrained } of documents)
    hash
      .update(`${tokens.length} `)
      .update(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength))
      .update(isTrained)
  return hash.digest('hex')
}
