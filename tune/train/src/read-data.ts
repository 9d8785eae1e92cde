/** Data of a run, for training and for evaluation between steps, as tokens in micro-batches. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ModelConfig } from '@cairn-tune/models'
import { InputError, TOKENIZER_TEXTS, loadTokenizer, readModelText } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { createBatches, type BatchOptions } from './data/batches.ts'
import { tokenizeExamples, type Documents } from './data/documents.ts'
import { evaluationBatches, splitDocuments } from './data/evaluation-batches.ts'
import { loadDataset, type DatasetOptions } from './data/load-dataset.ts'
import { isPreference } from './methods.ts'
import { readPreferences } from './read-preferences.ts'
import { hashOf, idsOf, type Hub, type RunData, type Source } from './run-data.ts'
import { checkSkipped, summarise } from './data/skips.ts'
import { cacheRoot, tokenizeCached } from './data/token-cache.ts'

/** Minimum number of examples to cache. Tokenising fewer is imperceptibly fast. */
const WORTH_KEEPING = 1000

export async function readData(
  config: TrainConfig,
  directory: string,
  model: ModelConfig,
  hub: Hub,
): Promise<RunData> {
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
  return isPreference(method)
    ? await readPreferences({ ...source, config: { ...config, method } }, options)
    : await readExamplesOf(source, options)
}

/** Data of a run that trains on examples, with the given tokenizer. */
export async function readExamplesOf(source: Source, options: BatchOptions): Promise<RunData> {
  const { config } = source
  const read = await readDocuments(config.dataset, source, {
    split: config.dataset_split,
    ...(config.dataset_samples === undefined ? {} : { samples: config.dataset_samples }),
  })
  const { training, evaluation } = await partDocuments(read.documents, source)
  const batches = createBatches(training, options)
  const evaluated = evaluationBatches(evaluation, options)
  return {
    batches,
    evaluation: evaluated,
    units: [],
    maxBoundaries: Math.max(batches.maxBoundaries, ...evaluated.map(({ cuSeqlens }) => cuSeqlens.length)),
    tokenIds: idsOf([...training, ...evaluation], options.padTokenId),
    dataset: {
      ...read.record,
      documents: training.length,
      tokens: training.reduce((sum, { tokens }) => sum + tokens.length, 0),
      evaluated: evaluation.length,
      hash: hashOf(training),
    },
  }
}

type Split = Pick<DatasetOptions, 'split' | 'samples'>

async function readDocuments(name: string, { config, directory, tokenizer, hub }: Source, split: Split) {
  const { max_seq_length: maxSeqLength, train_on: trainOn, too_long: tooLong, seed } = config
  const { examples, source, skipped, placeOf } = await loadDataset(name, {
    ...hub,
    ...split,
    seed,
    columns: config.dataset_columns,
    badRows: config.bad_rows,
  })
  if (examples.length === 0) throw new InputError(`dataset ${name}: has no rows`)
  const options = { maxSeqLength, trainOn, tooLong }
  const { documents, truncated, dropped, refused } =
    examples.length < WORTH_KEEPING
      ? tokenizeExamples(examples, tokenizer, options)
      : await tokenizeCached(
          join(cacheRoot(), 'tokens'),
          examples,
          tokenizer,
          await fingerprint(directory),
          options,
        )
  const allSkipped = [...skipped, ...refused.map(({ index, reason }) => ({ where: placeOf(index), reason }))]
  checkSkipped(allSkipped, documents.length, config.bad_rows)
  const record = { source, examples: examples.length, truncated, dropped, skipped: summarise(allSkipped) }
  return { documents, record }
}

/** Splits documents into those for training and those for evaluation. */
async function partDocuments(
  documents: Documents['documents'],
  source: Source,
): Promise<{ training: Documents['documents']; evaluation: Documents['documents'] }> {
  const { eval_dataset: name, eval_split: split, seed } = source.config
  if (name !== undefined) {
    // Generated problems have a half that is never trained on.
    const read = await readDocuments(name, source, {
      split: name.startsWith('problems:') ? 'test' : 'validation',
    })
    return { training: documents, evaluation: read.documents }
  }
  if (split === undefined) return { training: documents, evaluation: [] }
  const parts = splitDocuments(documents, split, seed)
  if (parts.training.length > 0) return parts
  throw new InputError(
    `eval_split ${split}: takes all ${documents.length} documents and leaves none to train on`,
  )
}

/** Everything that determines the ids of a text. */
async function fingerprint(directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of TOKENIZER_TEXTS) {
    const text = await readModelText(directory, name)
    hash.update(`${name} ${text?.length ?? -1}\n`).update(text ?? '')
  }
  return hash.digest('hex')
}
