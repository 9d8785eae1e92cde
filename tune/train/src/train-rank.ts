/** A training run, from a configuration to an adapter (contract T4), or the part of one of its ranks. */
import { createHash } from 'node:crypto'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { version as nodeVersion } from 'node:process'
import { partsOf } from '@cairn-tune/models'
import { EMBEDDINGS, WriteError } from '@cairn-tune/weights'
import { peakMemory } from '@cairn/tooling/peak-memory'
import { VERSION } from '@cairn/tooling/version'
import {
  checkResumable,
  decisiveSettings,
  findCheckpoint,
  listCheckpoints,
  type CheckpointState,
} from './checkpoint.ts'
import type { TrainConfig } from './config.ts'
import { START, countSteps } from './data/batches.ts'
import { withCardSums } from './ranks/card-sums.ts'
import { configOfRank, noteOfShare, recordOfRanks } from './ranks/config-of-rank.ts'
import type { RankGroup } from './ranks/group.ts'
import { readInitialAdapter } from './adapter-init.ts'
import { createEvaluator } from './evaluate-run.ts'
import { readWhole, wholeOf } from './experts/expert-share.ts'
import { bytesText } from './memory-budget.ts'
import { memoryText } from './estimate.ts'
import { lockOutput } from './output-lock.ts'
import type { TrainOptions, TrainResult } from './metrics.ts'
import { dataNotes, prepareRun, type PreparedRun } from './prepare-run.ts'
import { scoreWithReference } from './reference-scores.ts'
import {
  checkOutput,
  clearOutput,
  truncateMetrics,
  hardwareText,
  directoryExists,
  makeOutput,
  writeLossChart,
  writeRunFile,
  writeResult,
} from './run-files.ts'
import { runSteps, type StepLoopOptions } from './run-steps.ts'
import { startStepper } from './start-stepper.ts'
import { readState } from './stepper.ts'

/**
 * Trains as one rank of a run, or as its only one. All ranks have the same weights after every step. Rank 0
 * writes the files, and its result is that of the run.
 */
export async function trainRank(
  given: TrainConfig,
  options: TrainOptions = {},
  hosts?: RankGroup,
): Promise<TrainResult> {
  const { signal, onNote = () => undefined } = options
  const directory = given.output_dir
  const isWriter = hosts === undefined || hosts.rank === 0
  using lock = isWriter && (await directoryExists(directory)) ? lockOutput(directory) : undefined
  if (isWriter) await checkOutput(given)
  const found = given.resume ? await findCheckpoint(directory) : undefined
  const own = await configOfRank(given, hosts, found)
  const threads = options.threads ?? given.threads ?? own.threads
  await using run = await prepareRun(own.config, { signal, threads, rank: hosts?.rank, onNote })
  const { config } = run
  const { share } = own
  const group = hosts && (await withCardSums(hosts, run.engine, onNote))
  const { memory, recomputed } = run.planned
  onNote(
    `memory: ${bytesText(memory.total)} of ${bytesText(run.budgetBytes)} (${memoryText(memory)}); ` +
      `recomputed: ${recomputed}`,
  )
  const { per_device_train_batch_size: rows } = config
  const totalSteps =
    config.max_steps ?? countSteps(run.batches.rowsPerEpoch, config.num_train_epochs, rows, share.total)
  const identity = {
    settings: decisiveSettings(config, {
      totalSteps,
      logitRows: run.planned.logitRows,
      microBatches: share.total,
    }),
    data: run.dataset.hash,
    model: modelHash(run),
    ranks: config.ranks,
  }
  if (found) checkResumable(found, identity, config.output_dir)
  for (const line of noteOfShare(config, share, found)) onNote(line)
  const wasFor = Number(found?.settings['total_steps'] ?? totalSteps)
  if (wasFor !== totalSteps)
    onNote(
      `continuing to ${totalSteps} steps instead of ${wasFor}; ` +
        `from here on the schedule is that of ${totalSteps} steps`,
    )
  const initial = found ? undefined : await readInitialAdapter(config, run.planned.micro.trained.map(wholeOf))
  // The file for streaming the base is created there.
  if (config.offload === 'disk') await makeOutput(directory)
  const stepper = await startStepper(run, config, { found, initial, group, share }, options)
  await scoreWithReference({
    config,
    modelDirectory: run.modelDirectory,
    units: run.units,
    trained: run.planned.micro.trained,
    stepper,
    signal,
    onNote,
    group,
  })
  if (isWriter) await makeOutput(directory)
  using _lateLock = !isWriter || lock ? undefined : lockOutput(directory)
  // Another run may have started there, and ended, while this one read its data.
  if (isWriter && !lock) await checkOutput(config)
  try {
    return await runToEnd({
      config,
      run,
      stepper,
      totalSteps,
      found,
      identity,
      share,
      isWriter,
      group,
      options,
    })
  } catch (error) {
    throw error instanceof WriteError ? await withLastStep(error, directory) : error
  }
}

/** Adds to a full-disk error that the newest checkpoint is complete. */
async function withLastStep({ path, cause }: WriteError, directory: string): Promise<WriteError> {
  const step = (await listCheckpoints(directory)).at(-1)
  const advice =
    step === undefined
      ? 'no checkpoint has been saved'
      : `the state after step ${step} is saved: free space and continue with --resume`
  return new WriteError(path, cause, advice)
}

/** The part of a run that writes files. */
async function runToEnd({
  config,
  run,
  stepper,
  totalSteps,
  found,
  identity,
  share,
  isWriter,
  group,
  options,
}: Omit<StepLoopOptions, 'from' | 'evaluator'> & {
  found: CheckpointState | undefined
}): Promise<TrainResult> {
  const { onNote = () => undefined } = options
  const record = describeRun(run, config, totalSteps, found, group)
  if (isWriter) {
    await clearOutput(config)
    await truncateMetrics(config.output_dir, found?.step ?? 0)
    await writeRunFile(config.output_dir, record)
  }
  if (found) onNote(`resuming after step ${found.step} of ${totalSteps}`)

  const { trained, tables } = run.planned.micro
  const read = (name: string) => readState(run.engine, new Map([...stepper.state, ...stepper.tables]), name)
  const writeTo = async (path: string) => {
    const experts = new Map<string, Uint8Array>()
    for (const tensor of trained.filter(({ slice }) => slice)) {
      const whole = await readWhole(group, { ...tensor, dtype: 'f32' }, read)
      if (isWriter) experts.set(tensor.name, whole)
    }
    if (!isWriter) return
    await writeResult({
      config,
      path,
      trained: trained.map(wholeOf),
      tables,
      read: async name => experts.get(name) ?? (await read(name)),
      modelDirectory: run.modelDirectory,
      model: run.model,
      tokenizerDirectory: run.tokenizerDirectory,
      isResized: run.newRows.some(id => id >= (run.checkpoint.tensors.get(EMBEDDINGS)?.shape[0] ?? 0)),
      modules: config.lora_target_modules ?? partsOf(run.model).modules,
    })
  }
  const best = join(config.output_dir, 'best')
  const evaluator =
    run.evaluation.length > 0
      ? await createEvaluator({
          config,
          measure: () => stepper.evaluate(run.evaluation, options.signal),
          saveBest: () => writeTo(best),
          lastStep: found?.step ?? 0,
          isWriter,
        })
      : undefined
  const outcome = await runSteps({
    config,
    run,
    stepper,
    totalSteps,
    from: found ?? { step: 0, position: START },
    identity,
    evaluator,
    share,
    isWriter,
    group,
    options,
  })
  const output =
    outcome.status === 'finished' ? join(config.output_dir, config.lora ? 'adapter' : 'model') : ''
  const peaks = group ? (await group.gather([peakMemory()])).flat() : [peakMemory()]
  const peakRssBytes = Math.max(...peaks)
  const takesBest = config.load_best_model_at_end && evaluator?.best !== undefined
  if (output !== '' && !takesBest) await writeTo(output)
  if (isWriter) {
    if (output !== '' && takesBest) {
      await rm(output, { recursive: true, force: true })
      await cp(best, output, { recursive: true })
    }
    const { dataset } = run
    if (dataset.streaming) for (const line of dataNotes(dataset, 0)) onNote(line)
    await writeLossChart(config.output_dir, `${config.model}, ${config.recipe}`)
    await writeRunFile(config.output_dir, {
      ...record,
      // Streaming has counted its rows since the run began.
      dataset: datasetOf(run),
      status: outcome.status,
      steps: outcome.step,
      ...(evaluator?.best ? { best: evaluator.best } : {}),
      peak_rss_bytes: peakRssBytes,
      finished_at: new Date().toISOString(),
    })
  }
  const opSeconds = [...stepper.opSeconds].toSorted((a, b) => b[1] - a[1])
  return {
    status: outcome.status,
    config,
    model: run.modelDirectory,
    dataset: run.dataset.source,
    skippedRows: run.dataset.skipped.rows,
    output,
    steps: outcome.step,
    metrics: outcome.metrics,
    evaluations: evaluator?.all ?? [],
    opSeconds,
    memory: run.planned.memory,
    peakRssBytes,
    hardware: hardwareOf(run, group),
    threads: run.engine.threads,
  }
}

/** `2 ranks of linux x64, …` with several. */
const hardwareOf = ({ engine: { threads, isa } }: PreparedRun, group: RankGroup | undefined): string =>
  `${group ? `${group.ranks} ranks of ` : ''}${hardwareText(threads, isa)}`

/** The data in the run's record. The number of rows is not known of streamed data. */
function datasetOf({ dataset, batches: { rowsPerEpoch } }: PreparedRun): Record<string, unknown> {
  return { ...dataset, ...(Number.isFinite(rowsPerEpoch) ? { rows: rowsPerEpoch } : {}) }
}

/** Names, shapes and positions of the weights: enough to detect another model without reading it. */
function modelHash({ model, checkpoint }: PreparedRun): string {
  const entries = [...checkpoint.tensors.values()].map(({ name, dtype, shape, start, end }) => [
    name,
    dtype,
    shape,
    start,
    end,
  ])
  return createHash('sha256')
    .update(JSON.stringify([model, entries]))
    .digest('hex')
}

function describeRun(
  run: PreparedRun,
  config: TrainConfig,
  totalSteps: number,
  found: CheckpointState | undefined,
  group: RankGroup | undefined,
): Record<string, unknown> {
  return {
    status: 'running',
    config,
    total_steps: totalSteps,
    resumed_after: found?.step,
    model: run.modelDirectory,
    dataset: datasetOf(run),
    versions: { cairn_tune: VERSION, node: nodeVersion },
    hardware: hardwareOf(run, group),
    ...(group ? { ranks: recordOfRanks(group, config) } : {}),
    memory: run.planned.memory,
    recomputed: run.planned.recomputed,
    started_at: new Date().toISOString(),
  }
}
