/**
 * From a configuration to a run that can start: model and data read and checked, memory planned. `estimate`
 * stops here.
 */
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { partsOf, readModelConfig, type ModelConfig } from '@cairn-tune/models'
import { createEngine, type Engine } from '@cairn-tune/native'
import {
  InputError,
  TOKENIZER_TEXTS,
  checkBase,
  loadTokenizer,
  openMappedCheckpoint,
  readModelText,
  resolveRepo,
  type Checkpoint,
} from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { createBatches, type BatchSource } from './data/batches.ts'
import { tokenizeExamples, type Documents } from './data/documents.ts'
import { loadDataset } from './data/load-dataset.ts'
import { checkSkipped, skipText, summarise, type SkipSummary } from './data/skips.ts'
import { tokenizeCached } from './data/token-cache.ts'
import { planRun, type Planned } from './estimate.ts'
import { memoryBudget } from './memory-budget.ts'

export type PrepareOptions = {
  signal?: AbortSignal | undefined
  threads?: number | undefined
  onNote?: ((line: string) => void) | undefined
}

export type PreparedRun = {
  engine: Engine
  checkpoint: Checkpoint
  model: ModelConfig
  modelDirectory: string
  batches: BatchSource
  dataset: {
    source: string
    examples: number
    documents: number
    truncated: number
    dropped: number
    tokens: number
    /** Rows of the data that are not learned from. */ skipped: SkipSummary
    /** Hash of what the model is taught, in order. */ hash: string
  }
  planned: Planned
  budgetBytes: number
  [Symbol.asyncDispose](): Promise<void>
}

/** Documents of this length are assumed while none has been read yet. */
const ASSUMED_LENGTH = 128

/**
 * What Node itself grows by between the plan and the end of a run: code, young objects, the chart's library.
 */
const NODE_GROWTH = 24 * 2 ** 20

/** Fewer examples are tokenised anew in less time than a person notices. */
const WORTH_KEEPING = 1000

/** Reads everything but the weights themselves. What cannot fit is refused before the data is read. */
export async function prepareRun(
  config: TrainConfig,
  { signal, threads, onNote = () => undefined }: PrepareOptions,
): Promise<PreparedRun> {
  const hub = { env: process.env, ...(signal ? { signal } : {}), onProgress: downloadNotes(onNote) }
  const modelDirectory = await resolveRepo('model', config.model, hub)
  const model = await readModelConfig(modelDirectory)
  const { max_seq_length: length, per_device_train_batch_size: rows } = config
  if (length > model.max_position_embeddings)
    throw new InputError(
      `max_seq_length ${length}: ${config.model} has ${model.max_position_embeddings} positions`,
    )
  const skipped = config.skip_quant_first_layers + config.skip_quant_last_layers
  if (skipped > model.num_hidden_layers)
    throw new InputError(
      `skip_quant_first_layers and skip_quant_last_layers: ${skipped} layers stay bf16, and ` +
        `${config.model} has ${model.num_hidden_layers}`,
    )
  checkModules(config, model)
  const checkpoint = await openMappedCheckpoint(modelDirectory)
  const count = threads ?? config.threads
  const engine = await createEngine({ ...(count === undefined ? {} : { threads: count }), log: onNote })
  const close = async () => {
    engine.close()
    await checkpoint.close()
  }
  try {
    const budgetBytes = memoryBudget(config.memory_limit)
    const plan = (boundaries: number) =>
      planRun({
        engine,
        checkpoint,
        model,
        config,
        boundaries,
        budgetBytes,
        processBytes: process.memoryUsage.rss() + NODE_GROWTH,
      })
    checkBase(checkpoint, plan(rows * (Math.ceil(length / ASSUMED_LENGTH) + 1) + 1).micro.base)
    const { batches, dataset } = await readData(config, modelDirectory, model, hub)
    signal?.throwIfAborted()
    onNote(
      `${dataset.source}: ${dataset.documents} documents of ${dataset.tokens} tokens in ` +
        `${batches.rowsPerEpoch} rows` +
        (dataset.truncated > 0 ? `, ${dataset.truncated} cut to max_seq_length` : '') +
        (dataset.dropped > 0 ? `, ${dataset.dropped} left out: nothing in them is trained` : ''),
    )
    if (dataset.skipped.rows > 0) onNote(skipText(dataset.skipped))
    return {
      engine,
      checkpoint,
      model,
      modelDirectory,
      batches,
      dataset,
      planned: plan(batches.mostBoundaries),
      budgetBytes,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Refuses an adapter on a linear that the model does not have. */
function checkModules(
  { lora_target_modules: wanted = [], lora_expert_rank, model: name }: TrainConfig,
  model: ModelConfig,
): void {
  if (lora_expert_rank !== undefined && !model.experts)
    throw new InputError(`lora_expert_rank: ${name} is a ${model.model_type} model and has no experts`)
  const { modules } = partsOf(model)
  const missing = wanted.find(module => !modules.includes(module))
  if (missing !== undefined)
    throw new InputError(
      `lora_target_modules: ${name} is a ${model.model_type} model and has no ${missing}; it has ` +
        `${modules.join(', ')}`,
    )
}

type Hub = Parameters<typeof resolveRepo>[2]

async function readData(
  config: TrainConfig,
  directory: string,
  model: ModelConfig,
  hub: Hub,
): Promise<Pick<PreparedRun, 'batches' | 'dataset'>> {
  const { max_seq_length: maxSeqLength, train_on: trainOn, too_long: tooLong, packing, seed } = config
  const tokenizer = await loadTokenizer(directory)
  if (tokenizer.vocabSize > model.vocab_size)
    throw new InputError(
      `${directory}: the tokenizer has ${tokenizer.vocabSize} tokens and the model ${model.vocab_size}; ` +
        'they do not belong together',
    )
  const { examples, source, skipped, placeOf } = await loadDataset(config.dataset, {
    ...hub,
    split: config.dataset_split,
    seed,
    columns: config.dataset_columns,
    badRows: config.bad_rows,
    ...(config.dataset_samples === undefined ? {} : { samples: config.dataset_samples }),
  })
  if (examples.length === 0) throw new InputError(`dataset ${config.dataset}: has no rows`)
  const options = { maxSeqLength, trainOn, tooLong }
  const tokenized =
    examples.length < WORTH_KEEPING
      ? tokenizeExamples(examples, tokenizer, options)
      : await tokenizeCached(
          join(cacheRoot(), 'tokens'),
          examples,
          tokenizer,
          await fingerprint(directory),
          options,
        )
  const { documents, truncated, dropped, refused } = tokenized
  const allSkipped = [...skipped, ...refused.map(({ index, reason }) => ({ where: placeOf(index), reason }))]
  checkSkipped(allSkipped, documents.length, config.bad_rows)
  const batches = createBatches(documents, {
    maxSeqLength,
    packing,
    seed,
    batchSize: config.per_device_train_batch_size,
    padTokenId: tokenizer.padTokenId ?? tokenizer.eosTokenId ?? 0,
  })
  const tokens = documents.reduce((sum, { tokens: own }) => sum + own.length, 0)
  return {
    batches,
    dataset: {
      source,
      examples: examples.length,
      documents: documents.length,
      truncated,
      dropped,
      tokens,
      skipped: summarise(allSkipped),
      hash: hashOf(tokenized),
    },
  }
}

const cacheRoot = (env: NodeJS.ProcessEnv = process.env) =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cairn-tune')

/** Everything that decides which ids a text has. */
async function fingerprint(directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of TOKENIZER_TEXTS) {
    const text = await readModelText(directory, name)
    hash.update(`${name} ${text?.length ?? -1}\n`).update(text ?? '')
  }
  return hash.digest('hex')
}

function hashOf({ documents }: Documents): string {
  const hash = createHash('sha256')
  for (const { tokens, isTrained } of documents)
    hash
      .update(`${tokens.length} `)
      .update(new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength))
      .update(isTrained)
  return hash.digest('hex')
}

/** A line for each tenth of a file. */
function downloadNotes(onNote: (line: string) => void): NonNullable<Hub['onProgress']> {
  const said = new Map<string, number>()
  return progress => {
    const { name, receivedBytes: done, totalBytes: total } = progress
    const tenth = total > 0 ? Math.floor((10 * done) / total) : 10
    if (said.get(name) === tenth) return
    said.set(name, tenth)
    onNote(`${name}: ${10 * tenth} % of ${(total / 2 ** 20).toFixed(0)} MiB`)
  }
}
