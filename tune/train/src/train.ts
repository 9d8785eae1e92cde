/** A training run from a configuration to an adapter (contract T4). */
import { createHash } from 'node:crypto'
import { version as nodeVersion } from 'node:process'
import { partsOf } from '@cairn-tune/models'
import type { DeviceBuffer } from '@cairn-tune/native'
import { floatsOf } from '@cairn-tune/ops'
import { WriteError, createF32Loader, loadBase } from '@cairn-tune/weights'
import {
  checkGoesOn,
  decisiveSettings,
  findCheckpoint,
  listCheckpoints,
  openCheckpointTensors,
  type CheckpointState,
} from './checkpoint.ts'
import type { TrainConfig } from './config.ts'
import { START, countSteps } from './data/batches.ts'
import { fillAdapter } from './adapter-init.ts'
import { bytesText } from './memory-budget.ts'
import { memoryText } from './estimate.ts'
import { lockOutput } from './output-lock.ts'
import type { TrainOptions, TrainResult } from './metrics.ts'
import { prepareRun, type PreparedRun } from './prepare-run.ts'
import {
  checkOutput,
  clearOutput,
  cutMetrics,
  hardwareText,
  isMade,
  makeOutput,
  writeLossChart,
  writeRunFile,
  writeTrained,
} from './run-files.ts'
import { runSteps, type Steps } from './run-steps.ts'
import { isBookkeeping, type StateTensor } from './record-step.ts'
import { createStepper, readState, type Stepper } from './stepper.ts'

/**
 * Trains and writes everything of the run to `output_dir`. An abort between or within steps saves a
 * checkpoint of the last whole step and ends the run as `interrupted`; before the first step it rejects with
 * the signal's reason.
 */
export async function train(config: TrainConfig, options: TrainOptions = {}): Promise<TrainResult> {
  const { signal, onNote = () => undefined } = options
  const directory = config.output_dir
  using held = (await isMade(directory)) ? lockOutput(directory) : undefined
  await checkOutput(config)
  await using run = await prepareRun(config, { signal, threads: options.threads, onNote })
  const { memory, recomputed } = run.planned
  onNote(
    `memory: ${bytesText(memory.total)} of ${bytesText(run.budgetBytes)} (${memoryText(memory)}); ` +
      `recomputed: ${recomputed}`,
  )
  const { per_device_train_batch_size: rows, gradient_accumulation_steps: accumulation } = config
  const totalSteps =
    config.max_steps ?? countSteps(run.batches.rowsPerEpoch, config.num_train_epochs, rows, accumulation)
  const identity = {
    settings: decisiveSettings(config, totalSteps),
    data: run.dataset.hash,
    model: modelHash(run),
  }
  const found = config.resume ? await findCheckpoint(config.output_dir) : undefined
  if (found) checkGoesOn(found, identity, config.output_dir)
  const stepper = await startStepper(run, config, found, options)
  await makeOutput(directory)
  using _late = held ? undefined : lockOutput(directory)
  // Another run may have begun there, and ended, while this one read its data.
  if (!held) await checkOutput(config)
  try {
    return await runToEnd({ config, run, stepper, totalSteps, found, identity, options })
  } catch (error) {
    throw error instanceof WriteError ? await withLastStep(error, directory) : error
  }
}

/** A full disk with what is left of the run: the newest checkpoint is whole. */
async function withLastStep({ path, cause }: WriteError, directory: string): Promise<WriteError> {
  const step = (await listCheckpoints(directory)).at(-1)
  const advice =
    step === undefined
      ? 'no checkpoint was saved yet'
      : `what was learned up to step ${step} is saved: make room, and --resume goes on from it`
  return new WriteError(path, cause, advice)
}

/** The part of a run that writes. */
async function runToEnd({
  config,
  run,
  stepper,
  totalSteps,
  found,
  identity,
  options,
}: Omit<Steps, 'from'> & { found: CheckpointState | undefined }): Promise<TrainResult> {
  const { onNote = () => undefined } = options
  await clearOutput(config)
  await cutMetrics(config.output_dir, found?.step ?? 0)
  const record = describeRun(run, config, totalSteps, found)
  await writeRunFile(config.output_dir, record)
  if (found) onNote(`going on after step ${found.step} of ${totalSteps}`)

  const outcome = await runSteps({
    config,
    run,
    stepper,
    totalSteps,
    from: found ?? { step: 0, position: START },
    identity,
    options,
  })
  const output =
    outcome.status === 'finished'
      ? await writeTrained({
          config,
          trained: run.planned.micro.trained,
          read: name => readState(run.engine, stepper.state, name),
          modelDirectory: run.modelDirectory,
          modules: config.lora_target_modules ?? partsOf(run.model).modules,
        })
      : ''
  await writeLossChart(config.output_dir, `${config.model}, ${config.recipe}`)
  const peakRssBytes = process.resourceUsage().maxRSS * 1024
  await writeRunFile(config.output_dir, {
    ...record,
    status: outcome.status,
    steps: outcome.step,
    peak_rss_bytes: peakRssBytes,
    finished_at: new Date().toISOString(),
  })
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
    opSeconds,
    memory: run.planned.memory,
    peakRssBytes,
    hardware: hardwareText(run.engine.threads, run.engine.isa),
    threads: run.engine.threads,
  }
}

/**
 * Loads the frozen weights, and what training starts from: a checkpoint, the model itself, or a new adapter.
 */
async function startStepper(
  { engine, checkpoint, model, planned }: PreparedRun,
  config: TrainConfig,
  found: CheckpointState | undefined,
  { signal, onNote }: TrainOptions,
): Promise<Stepper> {
  const { micro } = planned
  const base = await loadBase(engine, checkpoint, micro.base, { signal })
  const trained = micro.trained.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)
  onNote?.(
    `${micro.base.length} base weights, ${trained.toLocaleString('en')} numbers trained, ` +
      `${engine.threads} threads, ${engine.isa}`,
  )
  return await createStepper({
    engine,
    config,
    model,
    micro,
    planned,
    base,
    fill: found
      ? await openCheckpointTensors(engine, config.output_dir, found.step)
      : fillAnew({ engine, checkpoint }, config),
  })
}

/**
 * What a new run starts from: a new adapter, or the model's own weights. The optimizer's states, which are no
 * weights, start from zero.
 */
function fillAnew(
  { engine, checkpoint }: Pick<PreparedRun, 'engine' | 'checkpoint'>,
  { lora, seed }: TrainConfig,
): (tensor: StateTensor, buffer: DeviceBuffer) => Promise<void> {
  const load = createF32Loader(engine, checkpoint)
  return async ({ name, shape }, buffer) => {
    if (isBookkeeping(name)) return
    if (lora) engine.write(buffer, memory => fillAdapter(seed, { name, shape }, floatsOf(memory)))
    else await load({ name, shape }, buffer)
  }
}

/** Names, shapes and places of the weights: enough to notice another model, without reading it. */
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
): Record<string, unknown> {
  return {
    status: 'running',
    config,
    total_steps: totalSteps,
    resumed_after: found?.step,
    model: run.modelDirectory,
    dataset: { ...run.dataset, rows: run.batches.rowsPerEpoch },
    versions: { cairn_tune: VERSION, node: nodeVersion },
    hardware: hardwareText(run.engine.threads, run.engine.isa),
    memory: run.planned.memory,
    recomputed: run.planned.recomputed,
    started_at: new Date().toISOString(),
  }
}

/** Of the package; it is a tree's version until there are releases. */
export const VERSION = '0.0.0'
