/**
 * Micro-batches: rows in a random order that depends only on seed and epoch, so that a position is enough to
 * resume exactly where a run stopped.
 *
 * Rows of one epoch follow those of the previous one; a micro-batch at the border has rows of both.
 */
import { createRandom } from '../random.ts'
import { listOf, type DocumentList } from './document-store.ts'
import type { Document } from './documents.ts'
import { packRows } from './pack.ts'

/** The target of a position that is excluded from the loss. */
export const IGNORED = -100

/** B rows of T slots, end to end. */
export type Batch = {
  tokens: Int32Array // (B*T)
  targets: Int32Array // (B*T), the next token of the same document, or IGNORED
  positions: Int32Array // (B*T), from 0 in each document
  cuSeqlens: Int32Array // starts of documents and of padding, then B*T
  isReal: Int32Array // (B*T), 1 for a document's token
  /** Slots whose target is not IGNORED. */
  trainedTokens: number
  /** Slots that hold a document's token. */
  realTokens: number
  /** Divisor of a step's loss: number of tokens that it counts, or of comparisons. */
  counted: number
  /**
   * Additional inputs of preference training, by the name of the program's input. A function, because the
   * scores of the reference are not known before the run.
   */
  extras?: () => Readonly<Record<string, Int32Array | Float32Array>>
}

/** Where the next micro-batch starts. */
export type DataPosition = { epoch: number; row: number }
export const START: DataPosition = { epoch: 0, row: 0 }

export type BatchOptions = {
  maxSeqLength: number
  batchSize: number
  packing: boolean
  seed: number
  padTokenId: number
}
export type BatchSource = {
  /** Infinity if the data is read while it is trained. */
  rowsPerEpoch: number
  /** Maximum length of cuSeqlens. Every epoch puts the same lengths together in rows. */
  maxBoundaries: number
  /** Reads ahead what micro-batches from a position need. Data that is in memory has none. */
  prepare?: (position: DataPosition, microBatches: number) => Promise<void>
  /** The micro-batch at a position, and the position after it. */
  batchAt: (position: DataPosition) => { batch: Batch; next: DataPosition }
  /** The position after the micro-batch at a position. */
  after: (position: DataPosition) => DataPosition
}

/** Number of steps in which every row of every epoch is seen at least once. */
export const countSteps = (rowsPerEpoch: number, epochs: number, batchSize: number, accumulation: number) =>
  Math.max(1, Math.ceil((rowsPerEpoch * epochs) / (batchSize * accumulation)))

/** Rows of documents, as micro-batches. */
export function createBatches(
  documents: DocumentList | readonly Document[],
  options: BatchOptions,
): BatchSource {
  const { length, at, lengthOf } = 'lengthOf' in documents ? documents : listOf(documents)
  return createSource({ length, at, lengthOf, partsOf: () => 1 }, options, rows => fillBatch(rows, options))
}

/** Items by index, which consist of one or more documents that stay in one row. */
export type ItemList<T> = {
  readonly length: number
  at: (index: number) => T | undefined
  /** Number of tokens of an item. */
  lengthOf: (index: number) => number
  /** Number of documents of an item. */
  partsOf: (index: number) => number
}

/** Micro-batches of items. */
export function createSource<T>(
  items: ItemList<T>,
  options: BatchOptions,
  fill: (rows: readonly (readonly T[])[]) => Batch,
): BatchSource {
  if (items.length === 0) throw new Error('[createSource] no documents')
  const lengths = Array.from({ length: items.length }, (_, i) => items.lengthOf(i))
  // Every epoch has as many rows as the first, because their number depends only on lengths.
  const first = rowsOf(lengths, options, 0)
  const rowsPerEpoch = first.length
  const fullest = first
    .map(row => row.reduce((sum, i) => sum + items.partsOf(i), 0))
    .toSorted((a, b) => b - a)
  // If there are fewer rows than a micro-batch takes, a row appears twice. Padding adds one document to a
  // row.
  const maxBoundaries =
    Array.from({ length: options.batchSize }, (_, i) => (fullest[i % rowsPerEpoch] ?? 0) + 1).reduce(
      (a, b) => a + b,
    ) + 1
  let cached: { epoch: number; rows: number[][] } | undefined
  const rowAt = ({ epoch, row }: DataPosition): number[] => {
    if (cached?.epoch !== epoch) cached = { epoch, rows: rowsOf(lengths, options, epoch) }
    const found = cached.rows[row]
    if (!found) throw new Error(`[batchAt] row ${row} of ${rowsPerEpoch}`)
    return found
  }
  return {
    rowsPerEpoch,
    maxBoundaries,
    batchAt(position) {
      const rows: number[][] = []
      let next = position
      for (let i = 0; i < options.batchSize; i++) {
        rows.push(rowAt(next))
        next = rowsAfter(next, 1, rowsPerEpoch)
      }
      return { batch: fill(rows.map(row => row.map(i => itemAt(items, i)))), next }
    },
    after: position => rowsAfter(position, options.batchSize, rowsPerEpoch),
  }
}

const rowsAfter = ({ epoch, row }: DataPosition, count: number, rowsPerEpoch: number): DataPosition => ({
  epoch: epoch + Math.floor((row + count) / rowsPerEpoch),
  row: (row + count) % rowsPerEpoch,
})

function itemAt<T>(items: ItemList<T>, index: number): T {
  const item = items.at(index)
  if (item === undefined) throw new Error(`[batchAt] no document ${index}`)
  return item
}

function rowsOf(
  lengths: readonly number[],
  { maxSeqLength, packing, seed }: BatchOptions,
  epoch: number,
): number[][] {
  const random = createRandom(seed, epoch)
  const order = random.shuffle(lengths.map((_, i) => i))
  if (!packing) return order.map(i => [i])
  const rows = packRows(
    order.map(i => lengths[i] ?? 0),
    maxSeqLength,
  )
  return random.shuffle(rows).map(row => row.map(i => order[i] ?? 0))
}

/** Rows of documents as a micro-batch. A row without documents is padding. */
export function fillBatch(
  rows: readonly (readonly Document[])[],
  { maxSeqLength, padTokenId }: Pick<BatchOptions, 'maxSeqLength' | 'padTokenId'>,
): Batch {
  const slots = rows.length * maxSeqLength
  const tokens = new Int32Array(slots).fill(padTokenId)
  const targets = new Int32Array(slots).fill(IGNORED)
  const positions = new Int32Array(slots)
  const isReal = new Int32Array(slots)
  const starts: number[] = []
  let realTokens = 0
  rows.forEach((documents, row) => {
    let start = row * maxSeqLength
    for (const { tokens: own, isTrained } of documents) {
      starts.push(start)
      tokens.set(own, start)
      isReal.fill(1, start, start + own.length)
      for (let i = 0; i < own.length; i++) positions[start + i] = i
      for (let i = 1; i < own.length; i++) if (isTrained[i] === 1) targets[start + i - 1] = own[i] ?? IGNORED
      start += own.length
      realTokens += own.length
    }
    const end = (row + 1) * maxSeqLength
    // Padding is a separate document, so that nothing attends to it.
    if (start < end) starts.push(start)
    for (let i = start; i < end; i++) positions[i] = i - start
  })
  const trainedTokens = targets.reduce((count, target) => count + Number(target !== IGNORED), 0)
  return {
    tokens,
    targets,
    positions,
    isReal,
    cuSeqlens: Int32Array.from([...starts, slots]),
    trainedTokens,
    realTokens,
    counted: trainedTokens,
  }
}

/** The boundaries in an array of fixed length, for programs recorded once. The added documents are empty. */
export function padCuSeqlens({ cuSeqlens, tokens }: Batch, length: number): Int32Array {
  if (cuSeqlens.length > length)
    throw new Error(`[padCuSeqlens] ${cuSeqlens.length} boundaries do not fit ${length}`)
  const padded = new Int32Array(length).fill(tokens.length)
  padded.set(cuSeqlens)
  return padded
}
