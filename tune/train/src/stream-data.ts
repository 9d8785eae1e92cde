/** Data of a run that is read while it is trained. */
import { createHash } from 'node:crypto'
import type { ModelTokenizer } from '@cairn-tune/weights'
import type { BatchOptions } from './data/batches.ts'
import { nothingToTrain, tokenizeExample, type Document, type DocumentOptions } from './data/documents.ts'
import { evaluationBatches } from './data/evaluation-batches.ts'
import { openDataset, type ExampleSource } from './data/load-dataset.ts'
import { checkSkipped, createTally, joinSummaries, untrainedText, type BadRows } from './data/skips.ts'
import { createStreamedBatches } from './data/streamed-batches.ts'
import { listOfSources, needsWhole } from './data-parts.ts'
import type { RunData, Source } from './run-data.ts'
import { tokenizerFingerprint } from './tokenizer-fingerprint.ts'

/** Data above this size is streamed if nothing needs it whole. */
const STREAMED_BYTES = 512 * 2 ** 20

/** Undefined if the run reads its data first. */
export async function streamData(
  { config, directory, tokenizer, hub }: Source,
  options: BatchOptions,
  readEvaluation: () => Promise<Document[]>,
): Promise<RunData | undefined> {
  if (config.streaming === false || (config.streaming === undefined && needsWhole(config))) return undefined
  const [part] = listOfSources(config)
  if (!part) return undefined
  const source = await openDataset(part.path, { ...hub, ...part, seed: config.seed })
  if (config.streaming !== true && source.bytes < STREAMED_BYTES) return undefined
  const evaluated = await readEvaluation()
  const evaluation = evaluationBatches(evaluated, options)
  const documentOptions = {
    maxSeqLength: config.max_seq_length,
    trainOn: config.train_on,
    tooLong: config.too_long,
    badRows: config.bad_rows,
  }
  const counts = createCounts()
  let epochs = 0
  const batches = createStreamedBatches(
    // Later epochs read the same rows.
    () => readDocuments(source, tokenizer, documentOptions, epochs++ === 0 ? counts : createCounts()),
    options,
  )
  // The tokens are not known before they are read.
  const hash = createHash('sha256')
    .update(`${await source.quickHash()} ${await tokenizerFingerprint(directory)}`)
    .digest('hex')
  const record = { source: source.source, evaluated: evaluated.length, hash }
  return {
    batches,
    evaluation,
    units: [],
    maxBoundaries: Math.max(batches.maxBoundaries, ...evaluation.map(({ cuSeqlens }) => cuSeqlens.length)),
    get dataset() {
      return { ...counts.numbers, ...record, ...counts.summaries(), streaming: true as const }
    },
    close: () => void batches.close(),
  }
}

/** What has been read so far. */
function createCounts() {
  const [unread, unfit, refused, untrained] = [createTally(), createTally(), createTally(), createTally()]
  const summaries = () => ({
    skipped: joinSummaries([unread, unfit, refused].map(tally => tally.summary())),
    untrained: untrained.summary(),
  })
  return {
    numbers: { examples: 0, documents: 0, truncated: 0, dropped: 0, tokens: 0 },
    unread,
    unfit,
    refused,
    untrained,
    summaries,
    check(left: number, badRows: BadRows): void {
      checkSkipped(unread.first ?? unfit.first ?? refused.first, summaries().skipped, left, badRows)
    },
  }
}

type Counts = ReturnType<typeof createCounts>

/** The documents of an epoch. */
async function* readDocuments(
  source: ExampleSource,
  tokenizer: ModelTokenizer,
  options: DocumentOptions & { badRows: BadRows },
  counts: Counts,
): AsyncGenerator<Document> {
  const { numbers } = counts
  const skip = (tally: Counts['refused'], where: string, reason: string) => {
    tally.add({ where, reason })
    if (options.badRows === 'error') counts.check(1, 'error')
  }
  for await (const rows of source.rows())
    for (const row of rows) {
      if ('reason' in row) {
        skip(row.isUnread ? counts.unread : counts.unfit, row.where, row.reason)
        continue
      }
      for (const example of row.examples) {
        const outcome = tokenizeExample(example, numbers.examples++, tokenizer, options)
        if (outcome.kind !== 'refused' && outcome.isTruncated) numbers.truncated++
        if (outcome.kind === 'refused') skip(counts.refused, row.where, outcome.reason)
        else if (outcome.kind === 'dropped') {
          numbers.dropped++
          counts.untrained.add({ where: row.where, reason: outcome.reason })
        } else {
          numbers.documents++
          numbers.tokens += outcome.document.tokens.length
          yield outcome.document
        }
      }
    }
  if (numbers.documents > 0) return
  if (numbers.dropped > 0)
    throw nothingToTrain(numbers.examples, options, untrainedText(counts.untrained.summary()))
  counts.check(0, options.badRows)
}
