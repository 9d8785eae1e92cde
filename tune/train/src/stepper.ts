/**
 * A training step on an engine: buffers of everything trained, and the programs of record-step.ts run over
 * them.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { byteLength, countElements, floatsOf, type OpName } from '@cairn-tune/ops'
import { ropeTables, type ModelConfig } from '@cairn-tune/models'
import { adoptAll, outputBinding, prepare, type Buffers, type Prepared } from '@cairn-tune/program'
import type { TrainConfig } from './config.ts'
import { padCuSeqlens, type Batch } from './data/batches.ts'
import { EXTRAS, type ComparedBatch } from './data/comparisons.ts'
import type { Document } from './data/documents.ts'
import { scoringBatches } from './data/scoring-batches.ts'
import { DivergedError } from './errors.ts'
import type { Planned, PlannedProgram } from './estimate.ts'
import { addRewards, baselineOf, noRewards, type RewardSums } from './rewards.ts'
import { RANDOM, gradientOf, type MicroStep } from './record-step.ts'
import { recordNorm, recordUpdate, stateTensors, type StateTensor } from './record-update.ts'

/**
 * What a step changes: the trained tensors by their names, the optimizer's states as `m:<name>` and
 * `v:<name>`, histories as `amax:<name>`.
 */
export type TrainState = ReadonlyMap<string, DeviceBuffer>

export type Stepper = {
  state: TrainState
  /**
   * Runs one optimizer step over a window of micro-batches. `number` counts from 1. An abort leaves the state
   * as it was.
   */
  step(
    window: Iterable<Batch>,
    options: { number: number; learningRate: number; signal?: AbortSignal | undefined },
  ): Promise<StepOutcome>
  /** The mean loss over batches, by what is trained so far; nothing of the state changes. */
  evaluate(batches: Iterable<Batch>, signal?: AbortSignal): Promise<{ loss: number; tokens: number }>
  /**
   * What the reference says of answers: the log-probability of the trained tokens of each document.
   * `adapter` has the values of the one that the reference has, by name.
   */
  reference(
    documents: readonly Document[],
    adapter: ReadonlyMap<string, Float32Array> | undefined,
    signal?: AbortSignal,
  ): Promise<Float32Array>
  /** Seconds by op of all steps so far. */
  opSeconds: ReadonlyMap<OpName, number>
}

type StepOutcome = {
  /** Of a step that compares answers. */
  rewards: RewardSums | undefined
  loss: number
  gradNorm: number
  realTokens: number
  trainedTokens: number
  slots: number
}

export type StepperOptions = {
  engine: Engine
  config: TrainConfig
  model: ModelConfig
  micro: MicroStep
  /** The plan that fits, for the program that it is of. */
  planned: Pick<Planned, 'program' | 'plan' | 'evaluation' | 'reference' | 'scoring'>
  /** The frozen weights by name. */
  base: ReadonlyMap<string, DeviceBuffer>
  /** Writes what training starts from into one tensor or state; all are zero before. */
  fill: (tensor: StateTensor, buffer: DeviceBuffer) => Promise<void>
}

export async function createStepper({
  engine,
  config,
  model,
  micro,
  planned,
  base,
  fill,
}: StepperOptions): Promise<Stepper> {
  const state = new Map<string, DeviceBuffer>()
  for (const tensor of stateTensors(micro, config)) {
    const buffer = engine.allocate(byteLength(tensor.dtype, tensor.shape))
    await fill(tensor, buffer)
    state.set(tensor.name, buffer)
  }
  const gradients = new Map(
    micro.trained.map(({ name, shape }) => [gradientOf(name), engine.allocate(countElements(shape) * 4)]),
  )

  const programs = [planned, planned.evaluation, planned.reference, planned.scoring]
  const arena = engine.allocate(Math.max(...programs.map(one => one?.plan.arenaBytes ?? 0)))
  const ready = ({ program, plan }: PlannedProgram) => prepare(engine, program, plan, arena)
  const [forward, norm, update] = [
    ready(planned),
    prepare(engine, recordNorm(micro.trained, config)),
    prepare(engine, recordUpdate(micro, config)),
  ]
  const evaluation = planned.evaluation && ready(planned.evaluation)
  const scoring = planned.scoring && ready(planned.scoring)
  const floats = (count: number) => engine.allocate(count * 4)
  const [loss, factor, length, count] = [floats(1), floats(1), floats(1), floats(1)]
  const [schedule, random] = [floats(2), engine.allocate(12)]
  const rows = Object.fromEntries(
    (['ids', 'targets', 'positions'] as const).map(name => [name, engine.allocate(micro.slots * 4)]),
  )
  const cuSeqlens = engine.allocate(micro.boundaries * 4)
  const extras = new Map(
    EXTRAS.flatMap(name =>
      forward.bindings.includes(name) ? [[name, engine.allocate(forward.bytesOf(name))] as const] : [],
    ),
  )
  const scores = engine.allocate(micro.boundaries * 4 + 4)
  const shared = {
    ...Object.fromEntries(base),
    ...Object.fromEntries(state),
    ...Object.fromEntries(gradients),
    ...adoptAll(engine, ropeTables(model, config.max_seq_length)),
    ...rows,
    cuSeqlens,
    ...Object.fromEntries(extras),
    [outputBinding('scores')]: scores,
    [RANDOM]: random,
  }
  const opSeconds = new Map<OpName, number>()

  async function run(prepared: Prepared, buffers: Buffers, signal?: AbortSignal): Promise<void> {
    const { seconds } = await prepared.run({ ...shared, ...buffers }, signal ? { signal } : {})
    for (const [op, spent] of seconds) opSeconds.set(op, (opSeconds.get(op) ?? 0) + spent)
  }

  function writeBatch(batch: Batch): void {
    const { tokens: ids, targets, positions } = batch
    for (const [name, values] of Object.entries({ ids, targets, positions })) {
      const buffer = rows[name]
      if (buffer) engine.write(buffer, values)
    }
    engine.write(cuSeqlens, padCuSeqlens(batch, micro.boundaries))
    const given = batch.extras?.() ?? {}
    for (const [name, buffer] of extras) {
      const values = given[name]
      if (!values) continue
      engine.clear(buffer)
      engine.write(buffer, values)
    }
  }

  const readScores = async (count: number) => floatsOf(await engine.read(scores, 0, count * 4)).slice()

  /** Log-probabilities of answers by a program that makes nothing else. */
  async function score(
    prepared: Prepared,
    buffers: Buffers,
    documents: readonly Document[],
    signal?: AbortSignal,
  ): Promise<Float32Array> {
    const found = new Float32Array(documents.length)
    for (const { batch, from, count: own } of scoringBatches(documents, config, micro.boundaries)) {
      writeBatch(batch)
      await run(prepared, buffers, signal)
      found.set(await readScores(own), from)
    }
    return found
  }

  /** Writes what kto measures the answers of a micro-batch by; it is 0 for other methods. */
  async function writeBaseline(batch: Batch, signal?: AbortSignal): Promise<number> {
    const buffer = extras.get('baseline')
    if (!buffer || !scoring) return 0
    const { units } = batch as ComparedBatch
    const said = await score(
      scoring,
      {},
      units.flatMap(({ mismatched }) => mismatched ?? []),
      signal,
    )
    const baseline = baselineOf(units, said)
    engine.write(buffer, Float32Array.of(baseline))
    return baseline
  }

  async function evaluate(
    batches: Iterable<Batch>,
    signal?: AbortSignal,
  ): Promise<{ loss: number; tokens: number }> {
    if (!evaluation) throw new Error('[evaluate] nothing was planned to be evaluated')
    let [sum, counted, tokens] = [0, 0, 0]
    for (const batch of batches) {
      await writeBaseline(batch, signal)
      writeBatch(batch)
      await run(evaluation, { [outputBinding('loss')]: loss }, signal)
      sum += await readNumber(engine, loss)
      counted += batch.counted
      tokens += batch.trainedTokens
    }
    return { loss: sum / counted, tokens }
  }

  async function step(
    window: Iterable<Batch>,
    { number, learningRate, signal }: Parameters<Stepper['step']>[1],
  ): Promise<StepOutcome> {
    for (const gradient of gradients.values()) engine.clear(gradient)
    // What an attempt that was cut short has seen does not count.
    for (const { name } of micro.histories) {
      const history = state.get(name)
      if (history) engine.clear(history, 0, 4)
    }
    const rewards = extras.size > 0 ? noRewards() : undefined
    const outcome: StepOutcome = {
      rewards,
      loss: 0,
      gradNorm: 0,
      realTokens: 0,
      trainedTokens: 0,
      slots: 0,
    }
    let counted = 0
    let index = (number - 1) * config.gradient_accumulation_steps
    for (const batch of window) {
      const baseline = await writeBaseline(batch, signal)
      writeBatch(batch)
      engine.write(random, Int32Array.of(config.seed | 0, Math.floor(config.seed / 2 ** 32) | 0, index++))
      await run(forward, { [outputBinding('loss')]: loss }, signal)
      outcome.loss += await readNumber(engine, loss)
      if (rewards) {
        const { units } = batch as ComparedBatch
        const said = await readScores(units.reduce((sum, { sequences }) => sum + sequences.length, 0))
        addRewards(rewards, units, said, { ...config, baseline })
      }
      counted += batch.counted
      outcome.realTokens += batch.realTokens
      outcome.trainedTokens += batch.trainedTokens
      outcome.slots += batch.tokens.length
    }
    outcome.loss /= counted
    if (!Number.isFinite(outcome.loss)) throw diverged('loss', outcome.loss, number, learningRate)
    engine.write(count, Float32Array.of(counted))
    await run(norm, { count, [outputBinding('factor')]: factor, [outputBinding('norm')]: length }, signal)
    outcome.gradNorm = await readNumber(engine, length)
    if (!Number.isFinite(outcome.gradNorm))
      throw diverged('gradient norm', outcome.gradNorm, number, learningRate)
    engine.write(schedule, Float32Array.of(learningRate, number))
    // Not to be interrupted: half an update could not be gone on from.
    await run(update, { factor, schedule })
    return outcome
  }

  async function reference(
    documents: readonly Document[],
    adapter: ReadonlyMap<string, Float32Array> | undefined,
    signal?: AbortSignal,
  ): Promise<Float32Array> {
    if (!planned.reference) throw new Error('[reference] nothing was planned to be compared with')
    const prepared = ready(planned.reference)
    // Scales of a run that has begun would depend on when it was asked.
    const unscaled = prepared.bindings
      .filter(name => name.startsWith('amax:'))
      .map(name => [name, engine.allocate(prepared.bytesOf(name))] as const)
    const buffers = {
      ...Object.fromEntries(unscaled),
      ...adoptAll(engine, Object.fromEntries(adapter ?? [])),
    }
    return await score(prepared, buffers, documents, signal)
  }
  return { state, step, evaluate, reference, opSeconds }
}

/** The bytes of a tensor of the state; they hold until the next step. */
export async function readState(engine: Engine, state: TrainState, name: string): Promise<Uint8Array> {
  const buffer = state.get(name)
  if (!buffer) throw new Error(`[readState] nothing is known of ${name}`)
  return await engine.read(buffer)
}

/** The first f32 of a buffer. */
async function readNumber(engine: Engine, buffer: DeviceBuffer): Promise<number> {
  return floatsOf(await engine.read(buffer, 0, 4))[0] ?? NaN
}

const diverged = (what: string, value: number, step: number, learningRate: number) =>
  new DivergedError(
    `step ${step}: the ${what} is ${value}, so the step was not taken (learning rate ` +
      `${learningRate.toPrecision(3)}). ` +
      'Lower learning_rate, raise warmup_steps, or look at the data; --resume goes on from the last ' +
      'checkpoint. If the first step fails, the base weights hold numbers that are not finite.',
  )
