/**
 * Prepares a run from a configuration: reads and checks model and data, and plans memory. `estimate` stops
 * here.
 */
import { readModelConfig, type ModelConfig } from '@cairn-tune/models'
import type { Engine } from '@cairn-tune/native'
import {
  InputError,
  UnsupportedError,
  checkBase,
  openMappedCheckpoint,
  resolveRepo,
  type Checkpoint,
} from '@cairn-tune/weights'
import { addTokens } from './added-tokens.ts'
import { checkModules } from './check-adapter.ts'
import { findCheckpoint } from './checkpoint.ts'
import { chooseEngine, type EngineChoice } from './choose-engine.ts'
import type { TrainConfig } from './config.ts'
import type { Batch, BatchSource } from './data/batches.ts'
import type { Comparison } from './data/comparisons.ts'
import { skipText, untrainedText } from './data/skips.ts'
import { planRun, type RunPlan } from './estimate.ts'
import { readData } from './read-data.ts'
import type { DataRecord, Hub } from './run-data.ts'
import { openRunTokenizer } from './run-tokenizer.ts'

export type PrepareOptions = {
  signal?: AbortSignal | undefined
  threads?: number | undefined
  /** The rank that is prepared. 0 by default. */
  rank?: number | undefined
  onNote?: ((line: string) => void) | undefined
}

export type PreparedRun = {
  /** The configuration, with the ids of added tokens. */
  config: TrainConfig
  engine: Engine
  checkpoint: Checkpoint
  /** The model, with the number of tokens after the added ones. */
  model: ModelConfig
  modelDirectory: string
  /** Directory of the tokenizer, if its tokens or chat template are not the model's. */
  tokenizerDirectory: string | undefined
  /** Rows of added tokens. */
  newRows: readonly number[]
  batches: BatchSource
  /** Micro-batches for evaluation, which are not trained on. */
  evaluation: readonly Batch[]
  /** Comparisons of preference methods. */
  units: readonly Comparison[]
  dataset: DataRecord
  planned: RunPlan
  budgetBytes: number
  [Symbol.asyncDispose](): Promise<void>
}

/** Assumed length of documents before any is read. */
const ASSUMED_LENGTH = 128

/**
 * Growth of Node's memory between the plan and the end of a run: code, young objects, the chart's library.
 */
const NODE_GROWTH = 24 * 2 ** 20

/** Reads everything except the weights. A run that cannot fit is rejected before the data is read. */
export async function prepareRun(
  given: TrainConfig,
  { signal, threads, rank, onNote = () => undefined }: PrepareOptions,
): Promise<PreparedRun> {
  const hub = { env: process.env, ...(signal ? { signal } : {}), onProgress: downloadNotes(onNote) }
  const modelDirectory = await resolveRepo('model', given.model, hub)
  await using resources = new AsyncDisposableStack()
  const { ownDirectory } = resources.use(await openRunTokenizer(given, modelDirectory, onNote))
  const tokenizerDirectory = ownDirectory ?? modelDirectory
  const { config, model, newRows } = await addTokens(
    // Ranks on cards cannot exchange the rows of experts.
    given.expert_parallel > 1 ? { ...given, device: 'cpu' } : given,
    await readModelConfig(modelDirectory),
    tokenizerDirectory,
  )
  const { max_seq_length: length, per_device_train_batch_size: rows } = config
  if (length > model.max_position_embeddings)
    throw new InputError(
      `max_seq_length ${length}: more than the ${model.max_position_embeddings} positions of ${config.model}`,
    )
  const skipped = config.skip_quant_first_layers + config.skip_quant_last_layers
  if (skipped > model.num_hidden_layers)
    throw new InputError(
      'skip_quant_first_layers and skip_quant_last_layers: ' +
        `${skipped} layers would stay bf16, but ${config.model} has only ${model.num_hidden_layers}`,
    )
  checkRecipe(config, model)
  checkModules(config, model)
  const checkpoint = await openMappedCheckpoint(modelDirectory)
  resources.defer(() => checkpoint.close())
  const continued = config.resume ? await findCheckpoint(config.output_dir) : undefined
  const plan = (
    { engine, budgetBytes, processBytes }: EngineChoice,
    boundaries: number,
    tokenIds?: ReadonlySet<number>,
  ) =>
    planRun({
      engine,
      checkpoint,
      model,
      config,
      boundaries,
      budgetBytes,
      processBytes,
      tokenIds,
      rank,
      logitRows: continued?.settings.logit_rows,
    })
  const assumedBoundaries = rows * (Math.ceil(length / ASSUMED_LENGTH) + 1) + 1
  const choice = await chooseEngine({
    config,
    threads: threads ?? config.threads,
    ranks: config.ranks,
    processBytes: () => process.memoryUsage.rss() + NODE_GROWTH,
    onNote,
    tryOut: one => void plan(one, assumedBoundaries),
  })
  const { engine, budgetBytes } = choice
  resources.defer(() => engine.close())
  checkBase(checkpoint, plan(choice, assumedBoundaries).micro.base)
  const data = await readData(config, tokenizerDirectory, model, hub)
  resources.defer(data.close)
  const { batches, evaluation, units, maxBoundaries, tokenIds, dataset } = data
  signal?.throwIfAborted()
  if (!data.hasEndToken) onNote(NO_END_TOKEN)
  for (const line of dataNotes(dataset, batches.rowsPerEpoch)) onNote(line)
  const planned = plan(choice, maxBoundaries, tokenIds)
  const kept = resources.move()
  return {
    config,
    engine,
    checkpoint,
    model,
    modelDirectory,
    tokenizerDirectory: ownDirectory,
    newRows,
    batches,
    evaluation,
    units,
    /** Streamed data counts its rows while it is read. */
    get dataset() {
      return data.dataset
    },
    planned,
    budgetBytes,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const NO_END_TOKEN =
  'warning: the model names no end token, so answers end without one and the model does not learn to stop, ' +
  'unless the chat template writes one; set eos_token in tokenizer_config.json'

/** What was read, and what of it is not trained. Of streamed data nothing has been read yet. */
export function dataNotes(dataset: DataRecord, rows: number): string[] {
  const { source, documents, tokens, truncated, dropped, skipped, untrained, mix = [], streaming } = dataset
  if (streaming && documents === 0) return [`${source}: read while training (streaming)`]
  return [
    `${source}: ${documents} documents of ${tokens} tokens` +
      (streaming ? ' read' : ` in ${rows} rows`) +
      (truncated > 0 ? `, ${truncated} truncated to max_seq_length` : '') +
      (dropped > 0 ? `, ${dropped} skipped (no token to train on)` : ''),
    ...mix.map(one => `${one.source}: ${one.documents} documents, ${one.seen} in an epoch`),
    ...(untrained ? [untrainedText(untrained)] : []),
    skipText(skipped),
  ].filter(line => line !== '')
}

/** Rejects full training, or storage by another recipe, for a base in MXFP4. */
function checkRecipe({ recipe, lora, model: name }: TrainConfig, { quantization }: ModelConfig): void {
  if (quantization !== 'mxfp4') return
  if (!lora)
    throw new InputError(
      `lora: ${name} is stored in MXFP4, which cannot be trained in full; train an adapter`,
    )
  // qfp8 would be the same run under another name: the base keeps the storage of its file.
  if (recipe !== 'qfp4')
    throw new UnsupportedError(
      `recipe ${recipe}: not available for ${name}, whose experts are stored in MXFP4, a 4-bit format, and ` +
        'stay in it; use qfp4 to train adapters',
    )
}

/** Reports each tenth of a file. */
function downloadNotes(onNote: (line: string) => void): NonNullable<Hub['onProgress']> {
  const reported = new Map<string, number>()
  return progress => {
    const { name, receivedBytes: done, totalBytes: total } = progress
    const tenth = total > 0 ? Math.floor((10 * done) / total) : 10
    if (reported.get(name) === tenth) return
    reported.set(name, tenth)
    onNote(`${name}: ${10 * tenth} % of ${(total / 2 ** 20).toFixed(0)} MiB`)
  }
}
