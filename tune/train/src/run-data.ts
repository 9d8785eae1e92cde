/** The data of a run, and its record. */
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
  /** Skipped rows of the data. */
  skipped: SkipSummary
  /** Number of evaluation documents. */
  evaluated: number
  /** Hash of the training data, in order. */
  hash: string
}

export type RunData = {
  batches: BatchSource
  /** Batches of the evaluation, in order; empty if there is none. */
  evaluation: readonly Batch[]
  /** Comparisons for training and evaluation. Empty for supervised runs. */
  units: readonly Comparison[]
  /** Maximum boundaries of a micro-batch. */
  maxBoundaries: number
  /** Every token that is read, including padding. */
  tokenIds: ReadonlySet<number>
  dataset: DataRecord
}

export type Source = { config: TrainConfig; directory: string; tokenizer: ModelTokenizer; hub: Hub }

/** Every token of some documents, and the padding token. */
export function idsOf(documents: readonly Pick<Document, 'tokens'>[], padding: number): Set<number> {
  const ids = new Set([padding])
  for (const { tokens } of documents) for (const id of tokens) ids.add(id)
  return ids
}

/** Hash of the training data, in order. */
export function hashOf(documents: readonly Document[]): string {
  const hash = createHash('sha256')
  for (const { tokens, isTrained } of documents)
    hash
      .update(`${tokens.length} `)
      .update(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength))
      .update(isTrained)
  return hash.digest('hex')
}
