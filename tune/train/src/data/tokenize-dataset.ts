/** The documents of a data set: read, tokenised and counted, or taken from an earlier run's file. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { makeDirectories, type ModelTokenizer } from '@cairn-tune/weights'
import { createDocumentStore, selectFrom, type DocumentList } from './document-store.ts'
import { nothingToTrain, tokenizeExample, type DocumentOptions } from './documents.ts'
import type { ExampleSource } from './load-dataset.ts'
import { readExamplesOnce } from './read-examples.ts'
import {
  checkSkipped,
  createTally,
  untrainedText,
  type BadRows,
  type SkipSummary,
  type Skipped,
} from './skips.ts'
import { TOKENS_EXTENSION, exists, readTokens, writeTokens } from './token-cache.ts'

export type TokenizeOptions = DocumentOptions & {
  /** Number of examples, from the start. Fewer repeat. */
  samples?: number | undefined
  badRows: BadRows
  /** Directory of the tokens of earlier runs. */
  directory: string
  /** A hash of everything that determines the ids of a text. */
  tokenizerHash: () => Promise<string>
}

export type TokenizedDataset = {
  documents: DocumentList
  record: {
    source: string
    examples: number
    truncated: number
    /** Examples that train nothing. */
    dropped: number
    untrained: SkipSummary
    skipped: SkipSummary
  }
  close: () => void
}

/** The counts in a file of tokens. */
type Counts = { untrained: SkipSummary; skipped: SkipSummary; firstSkipped?: Skipped }
/** One byte for each example, in base64. */
type Stored = Counts & { outcomes: string }

/** Bits of an example's outcome. */
const [IS_DOCUMENT, IS_TRUNCATED, IS_DROPPED] = [1, 2, 4]

/** Smaller data is tokenised faster than it is hashed and looked up. */
const MIN_CACHED_BYTES = 2 ** 17
const MIN_CACHED_EXAMPLES = 1000
/** Raise when the same input would be tokenised differently. */
const VERSION = '5'

export async function tokenizeDataset(
  source: ExampleSource,
  tokenizer: ModelTokenizer,
  options: TokenizeOptions,
): Promise<TokenizedDataset> {
  const isSmall = source.bytes > 0 && source.bytes < MIN_CACHED_BYTES
  const path = isSmall ? undefined : await pathOf(source, options)
  const { documents, outcomes, close, untrained, skipped, firstSkipped } =
    path !== undefined && (await exists(path))
      ? await readStored(path)
      : await tokenize(source, tokenizer, options, path)
  if (documents.length === 0 && untrained.rows > 0)
    throw nothingToTrain(outcomes.length, options, untrainedText(untrained))
  checkSkipped(firstSkipped, skipped, documents.length, options.badRows)
  const count = options.samples ?? outcomes.length
  const repeated = Array.from({ length: count }, (_, i) => outcomes[i % outcomes.length] ?? 0)
  const counted = (bit: number) => repeated.reduce((sum, outcome) => sum + Number((outcome & bit) !== 0), 0)
  const record = {
    source: source.source,
    examples: count,
    truncated: counted(IS_TRUNCATED),
    dropped: counted(IS_DROPPED),
    untrained,
    skipped,
  }
  const wanted = counted(IS_DOCUMENT)
  const indices = Int32Array.from({ length: wanted }, (_, i) => i % documents.length)
  return {
    documents: wanted === documents.length ? documents : selectFrom(documents, indices),
    record,
    close,
  }
}

async function pathOf(source: ExampleSource, options: TokenizeOptions): Promise<string> {
  const { maxSeqLength, trainOn, tooLong, samples } = options
  const key = [VERSION, await options.tokenizerHash(), await source.hash(), source.source]
  const hash = createHash('sha256').update(
    JSON.stringify([key, maxSeqLength, trainOn, tooLong, samples ?? 0]),
  )
  return join(options.directory, `${hash.digest('hex').slice(0, 32)}${TOKENS_EXTENSION}`)
}

type Made = Counts & {
  documents: DocumentList
  outcomes: Uint8Array
  close: () => void
}

async function readStored(path: string): Promise<Made> {
  const { documents, record, close } = await readTokens(path)
  // The name of the file is a hash that contains the version of this record.
  const { outcomes, ...counts } = record as Stored
  return { ...counts, documents, outcomes: Buffer.from(outcomes, 'base64'), close }
}

async function tokenize(
  source: ExampleSource,
  tokenizer: ModelTokenizer,
  options: TokenizeOptions,
  path: string | undefined,
): Promise<Made> {
  if (path !== undefined) await makeDirectories(options.directory)
  const store = createDocumentStore(options.directory)
  const untrained = createTally()
  const outcomes: number[] = []
  const { examples, skipped, firstSkipped } = await readExamplesOnce(
    source,
    options,
    (example, index, where) => {
      const outcome = tokenizeExample(example, index, tokenizer, options)
      const isTruncated = outcome.kind !== 'refused' && outcome.isTruncated
      if (outcome.kind === 'document') store.add(outcome.document)
      if (outcome.kind === 'dropped') untrained.add({ where, reason: outcome.reason })
      outcomes.push(
        (outcome.kind === 'document' ? IS_DOCUMENT : 0) |
          (outcome.kind === 'dropped' ? IS_DROPPED : 0) |
          (isTruncated ? IS_TRUNCATED : 0),
      )
      return outcome.kind === 'refused' ? outcome.reason : undefined
    },
  )
  const counts: Counts = {
    untrained: untrained.summary(),
    skipped,
    ...(firstSkipped ? { firstSkipped } : {}),
  }
  const made = { ...counts, documents: store, outcomes: Uint8Array.from(outcomes), close: store.close }
  if (path !== undefined && examples >= MIN_CACHED_EXAMPLES)
    await writeTokens(path, store, { ...counts, outcomes: Buffer.from(made.outcomes).toString('base64') })
  return made
}
