/**
 * Micro-batches of data that is read while it is trained, for data too large to be tokenised first. The order
 * is random within windows, which grow from a few rows to a million tokens, so that the first micro-batch
 * comes soon. It depends on the seed, the epoch and the data alone, so a run resumes by reading again.
 */
import { createRandom } from '../random.ts'
import { fillBatch, type BatchOptions, type BatchSource, type DataPosition } from './batches.ts'
import type { Document } from './documents.ts'
import { packRows } from './pack.ts'

/** Rows of the first window. */
const FIRST_ROWS = 32
const MAX_WINDOW_TOKENS = 2 ** 20
/** Documents of a row have at least this many tokens on average; rows with shorter ones are divided. */
const MIN_AVERAGE_TOKENS = 16

type QueuedRow = { position: DataPosition; documents: readonly Document[] }

/** `read` reads the documents of an epoch from the start. */
export function createStreamedBatches(
  read: () => AsyncIterable<Document>,
  options: BatchOptions,
): BatchSource & { close: () => Promise<void> } {
  const { batchSize, maxSeqLength } = options
  const maxPerRow = Math.ceil(maxSeqLength / MIN_AVERAGE_TOKENS)
  let queue: QueuedRow[] = []
  let rows: AsyncGenerator<QueuedRow> | undefined
  const restart = async (epoch: number) => {
    await rows?.return(undefined)
    queue = []
    rows = rowsFrom(epoch)
  }
  async function* rowsFrom(first: number): AsyncGenerator<QueuedRow> {
    for (let epoch = first; ; epoch++) {
      let row = 0
      for await (const documents of rowsOfEpoch(read(), options, epoch, maxPerRow))
        yield { position: { epoch, row: row++ }, documents }
      if (row === 0) throw new Error('[createStreamedBatches] an epoch without documents')
    }
  }
  /** The queued rows of the micro-batch at a position, and the position after it. */
  const rowsAt = (position: DataPosition) => {
    const at = queue.findIndex(one => !isBefore(one.position, position))
    const next = queue[at + batchSize]
    if (at < 0 || !next) throw new Error('[batchAt] the rows are not prepared')
    return { own: queue.slice(at, at + batchSize), next: next.position }
  }
  const isBefore = (a: DataPosition, b: DataPosition) =>
    a.epoch < b.epoch || (a.epoch === b.epoch && a.row < b.row)
  return {
    rowsPerEpoch: Infinity,
    maxBoundaries: batchSize * (maxPerRow + 1) + 1,
    async prepare(position, microBatches) {
      const [first] = queue
      if (!rows || (first && isBefore(position, first.position))) await restart(position.epoch)
      queue = queue.filter(one => !isBefore(one.position, position))
      // The position after the last micro-batch is that of one more row.
      while (queue.length < microBatches * batchSize + 1) {
        const next = await rows?.next()
        if (!next || next.done) throw new Error('[createStreamedBatches] the rows ended')
        if (!isBefore(next.value.position, position)) queue.push(next.value)
      }
    },
    batchAt(position) {
      const { own, next } = rowsAt(position)
      return {
        batch: fillBatch(
          own.map(({ documents }) => documents),
          options,
        ),
        next,
      }
    },
    after: position => rowsAt(position).next,
    async close() {
      await rows?.return(undefined)
    },
  }
}

async function* rowsOfEpoch(
  documents: AsyncIterable<Document>,
  { maxSeqLength, packing, seed }: BatchOptions,
  epoch: number,
  maxPerRow: number,
): AsyncGenerator<Document[]> {
  let windowTokens = FIRST_ROWS * maxSeqLength
  let window: Document[] = []
  let tokens = 0
  let number = 0
  const take = (): Document[][] => {
    const random = createRandom(seed, epoch, number++)
    const shuffled = random.shuffle(window)
    window = []
    tokens = 0
    windowTokens = Math.min(2 * windowTokens, Math.max(MAX_WINDOW_TOKENS, FIRST_ROWS * maxSeqLength))
    if (!packing) return shuffled.map(document => [document])
    const rows = packRows(
      shuffled.map(one => one.tokens.length),
      maxSeqLength,
    ).map(row => row.flatMap(i => shuffled[i] ?? []))
    return random.shuffle(
      rows.flatMap(row =>
        Array.from({ length: Math.ceil(row.length / maxPerRow) }, (_, i) =>
          row.slice(i * maxPerRow, (i + 1) * maxPerRow),
        ),
      ),
    )
  }
  for await (const document of documents) {
    window.push(document)
    tokens += document.tokens.length
    if (tokens >= windowTokens) yield* take()
  }
  if (window.length > 0) yield* take()
}
