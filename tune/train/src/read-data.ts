/** Data of a run, for training and for evaluation between steps, as tokens in micro-batches. */
import { join } from 'node:path'
import type { ModelConfig } from '@cairn-tune/models'
import { InputError, loadTokenizer } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { createBatches, type BatchOptions } from './data/batches.ts'
import { documentsOf, selectFrom, type DocumentList } from './data/document-store.ts'
import { evaluationBatches, splitIndices } from './data/evaluation-batches.ts'
import { openDataset } from './data/load-dataset.ts'
import { countsByShare, mixDocuments } from './data/mix.ts'
import { cacheRoot } from './data/token-cache.ts'
import { tokenizeDataset, type TokenizeOptions, type TokenizedDataset } from './data/tokenize-dataset.ts'
import { isPreference } from './methods.ts'
import { evaluationPart, listOfSources, mixRecord, type DataPart } from './data-parts.ts'
import { readPreferences } from './read-preferences.ts'
import { streamData } from './stream-data.ts'
import { tokenizerFingerprint } from './tokenizer-fingerprint.ts'
import { hashOf, idsOf, type DataRecord, type Hub, type RunData, type Source } from './run-data.ts'

export async function readData(
  config: TrainConfig,
  directory: string,
  model: ModelConfig,
  hub: Hub,
): Promise<RunData & { hasEndToken: boolean }> {
  const tokenizer = await loadTokenizer(directory)
  if (tokenizer.vocabSize > model.vocab_size)
    throw new InputError(
      `${directory}: the tokenizer has ${tokenizer.vocabSize} tokens, but the model has ` +
        `${model.vocab_size}; they do not belong together`,
    )
  const source = { config, directory, tokenizer, hub }
  const options = {
    maxSeqLength: config.max_seq_length,
    packing: config.packing,
    seed: config.seed,
    batchSize: config.per_device_train_batch_size,
    padTokenId: tokenizer.padTokenId ?? tokenizer.eosTokenId ?? 0,
  }
  const { method } = config
  const data = isPreference(method)
    ? await readPreferences({ ...source, config: { ...config, method } }, options)
    : await readExamplesOf(source, options)
  // A copy would freeze the counts of streamed data, which are read through a getter.
  return Object.assign(data, { hasEndToken: tokenizer.eosTokenId !== undefined })
}

/** Data of a run that trains on examples, with the given tokenizer. */
export async function readExamplesOf(source: Source, options: BatchOptions): Promise<RunData> {
  const { eval_dataset: evalName } = source.config
  const streamed = await streamData(source, options, async () =>
    evalName === undefined ? [] : await readEvaluation(source, evalName),
  )
  if (streamed) return streamed
  const read = await readMix(source)
  const { training, evaluation } = await partDocuments(read.documents, source)
  const batches = createBatches(training, options)
  const evaluated = evaluationBatches(evaluation, options)
  let tokens = 0
  for (let i = 0; i < training.length; i++) tokens += training.lengthOf(i)
  return {
    batches,
    evaluation: evaluated,
    units: [],
    maxBoundaries: Math.max(batches.maxBoundaries, ...evaluated.map(({ cuSeqlens }) => cuSeqlens.length)),
    tokenIds: idsOf(chain(documentsOf(training), evaluation), options.padTokenId),
    dataset: {
      ...read.record,
      documents: training.length,
      tokens,
      evaluated: evaluation.length,
      hash: hashOf(documentsOf(training)),
    },
    close: read.close,
  }
}

function* chain<T>(...parts: readonly Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part
}

type ReadRecord = Omit<DataRecord, 'documents' | 'tokens' | 'evaluated' | 'hash'>

/** The documents of the run's data set, or of its mix. */
async function readMix(
  source: Source,
): Promise<{ documents: DocumentList; record: ReadRecord; close: () => void }> {
  const parts = listOfSources(source.config)
  const read: TokenizedDataset[] = []
  for (const part of parts) read.push(await readPart(part, source))
  const [only] = read
  if (source.config.dataset_mix === undefined && only) return only
  const counts = countsByShare(
    read.map(({ documents }) => documents.length),
    parts.map(({ weight }) => weight),
  )
  return {
    documents: mixDocuments(
      read.map(({ documents }) => documents),
      counts,
    ),
    record: mixRecord(
      parts,
      read.map(({ record, documents }, i) => ({ record, documents: documents.length, seen: counts[i] ?? 0 })),
    ),
    close: () => {
      for (const one of read) one.close()
    },
  }
}

async function readPart(part: DataPart, source: Source): Promise<TokenizedDataset> {
  const { config, tokenizer, hub } = source
  return await tokenizeDataset(
    await openDataset(part.path, { ...hub, ...part, seed: config.seed }),
    tokenizer,
    { ...tokenizeOptions(source), samples: part.samples },
  )
}

const tokenizeOptions = ({ config, directory }: Source): TokenizeOptions => ({
  maxSeqLength: config.max_seq_length,
  trainOn: config.train_on,
  tooLong: config.too_long,
  badRows: config.bad_rows,
  directory: join(cacheRoot(), 'tokens'),
  tokenizerHash: () => tokenizerFingerprint(directory),
})

/** Splits documents into those for training and those for evaluation. */
async function partDocuments(
  documents: DocumentList,
  source: Source,
): Promise<{ training: DocumentList; evaluation: ReturnType<typeof documentsIn> }> {
  const { eval_dataset: name, eval_split: split, seed } = source.config
  if (name !== undefined) return { training: documents, evaluation: await readEvaluation(source, name) }
  if (split === undefined) return { training: documents, evaluation: [] }
  const parts = splitIndices(documents.length, split, seed)
  if (parts.training.length > 0)
    return {
      training: selectFrom(documents, Int32Array.from(parts.training)),
      evaluation: documentsIn(selectFrom(documents, parts.evaluation)),
    }
  throw new InputError(
    `eval_split ${split}: takes all ${documents.length} documents and leaves none to train on`,
  )
}

const documentsIn = (list: DocumentList) => [...documentsOf(list)]

async function readEvaluation(source: Source, name: string): Promise<ReturnType<typeof documentsIn>> {
  const { documents, close } = await readPart(evaluationPart(source.config, name), source)
  try {
    return documentsIn(documents)
  } finally {
    close()
  }
}
