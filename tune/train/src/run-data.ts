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
  /** Rows without a token that is trained, which are counted in `dropped`. */
  untrained?: SkipSummary
  /** The data sets of a mix, in order. */
  mix?: readonly MixedRecord[]
  /** The data is read while it is trained; the counts are those of what was read. */
  streaming?: true
  /** Number of evaluation documents. */
  evaluated: number
  /** Hash of the training data, in order. */
  hash: string
}

/** One data set of a mix. `seen` is the number of its documents in an epoch, some of them several times. */
export type MixedRecord = {
  source: string
  weight?: number
  examples: number
  documents: number
  seen: number
}

export type RunData = {
  batches: BatchSource
  /** Batches of the evaluation, in order; empty if there is none. */
  evaluation: readonly Batch[]
  /** Comparisons for training and evaluation. Empty for supervised runs. */
  units: readonly Comparison[]
  /** Maximum boundaries of a micro-batch. */
  maxBoundaries: number
  /** Every token that is read, including padding. Undefined if only reading the data would tell. */
  tokenIds?: ReadonlySet<number>
  dataset: DataRecord
  /** Closes the file that holds many documents. */
  close: () => void
}

export type Source = { config: TrainConfig; directory: string; tokenizer: ModelTokenizer; hub: Hub }

/** Every token of some documents, and the padding token. */
export function idsOf(documents: Iterable<Pick<Document, 'tokens'>>, padding: number): Set<number> {
  const ids = new Set([padding])
  for (const { tokens } of documents) for (const id of tokens) ids.add(id)
  return ids
}

/** Hash of the training data, in order. */
export function hashOf(documents: Iterable<Document>): string {
  const hash = createHash('sha256')
  for (const { tokens, isTrained } of documents)
    hash
      .update(`${tokens.length} `)
      .update(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength))
      .update(isTrained)
  return hash.digest('hex')
}
