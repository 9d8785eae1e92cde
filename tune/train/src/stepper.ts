/**
 * A training step on an engine: buffers of everything trained, and the programs of record-step.ts run over
 * them.
 */
import type { Engine } from '@cairn-tune/native'
import { byteLength, countElements, type OpName } from '@cairn-tune/ops'
import { ropeTables, type ModelConfig } from '@cairn-tune/models'
import { outputBinding, prepare, type Plan, type Prepared, type Program } from '@cairn-tune/program'
import type { TrainConfig } from './config.ts'
import { padCuSeqlens, type Batch } from './data/batches.ts'
import { DivergedError } from './errors.ts'
import {
  RANDOM,
  gradientOf,
  recordNorm,
  recordUpdate,
  stateTensors,
  type MicroStep,
  type StateTensor,
} from './record-step.ts'

/**
 * Bytes of what a step changes: the trained tensors by their names, the optimizer's states as `m:<name>` and
 * `v:<name>`, histories as `amax:<name>`.
 */
export type TrainState = ReadonlyMap<string, Uint8Array>

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
  /** Seconds by op of all steps so far. */
  opSeconds: ReadonlyMap<OpName, number>
}

export type StepOutcome = {
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
  planned: { program: Program; plan: Plan }
  /** Bytes of the frozen weights by name. */
  base: ReadonlyMap<string, Uint8Array>
  /** Writes what training starts from into one tensor or state; all are zero before. */
  fill: (tensor: StateTensor, bytes: Uint8Array) => Promise<void>
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
  const float = (count: number) => new Float32Array(engine.allocate(count * 4).buffer, 0, count)
  const state = new Map<string, Uint8Array>()
  for (const tensor of stateTensors(micro, config)) {
    const bytes = engine.allocate(byteLength(tensor.dtype, tensor.shape))
    await fill(tensor, bytes)
    state.set(tensor.name, bytes)
  }
  const gradients = new Map(
    micro.trained.map(({ name, shape }) => [gradientOf(name), float(countElements(shape))]),
  )

  const [forward, norm, update] = [
    prepare(engine, planned.program, planned.plan),
    prepare(engine, recordNorm(micro.trained, config)),
    prepare(engine, recordUpdate(micro, config)),
  ]
  const [loss, factor, length] = [new Float32Array(1), new Float32Array(1), new Float32Array(1)]
  const [schedule, count] = [new Float32Array(2), new Float32Array(1)]
  const shared = {
    ...Object.fromEntries(base),
    ...Object.fromEntries(state),
    ...Object.fromEntries(gradients),
    ...ropeTables(model, config.max_seq_length),
  }
  const random = Int32Array.of(config.seed | 0, Math.floor(config.seed / 2 ** 32) | 0, 0)
  const opSeconds = new Map<OpName, number>()

  async function run(
    prepared: Prepared,
    buffers: Record<string, ArrayBufferView>,
    signal?: AbortSignal,
  ): Promise<void> {
    const { seconds } = await prepared.run({ ...shared, ...buffers }, signal ? { signal } : {})
    for (const [op, spent] of seconds) opSeconds.set(op, (opSeconds.get(op) ?? 0) + spent)
  }

  async function step(
    window: Iterable<Batch>,
    { number, learningRate, signal }: Parameters<Stepper['step']>[1],
  ): Promise<StepOutcome> {
    for (const gradient of gradients.values()) gradient.fill(0)
    // What an attempt that was cut short has seen does not count.
    for (const { name } of micro.histories) state.get(name)?.fill(0, 0, 4)
    const outcome: StepOutcome = { loss: 0, gradNorm: 0, realTokens: 0, trainedTokens: 0, slots: 0 }
    let index = (number - 1) * config.gradient_accumulation_steps
    for (const batch of window) {
      const { tokens: ids, targets, positions } = batch
      random[2] = index++
      await run(
        forward,
        {
          ids,
          targets,
          positions,
          cuSeqlens: padCuSeqlens(batch, micro.boundaries),
          [RANDOM]: random,
          [outputBinding('loss')]: loss,
        },
        signal,
      )
      outcome.loss += loss[0] ?? NaN
      outcome.realTokens += batch.realTokens
      outcome.trainedTokens += batch.trainedTokens
      outcome.slots += ids.length
    }
    outcome.loss /= outcome.trainedTokens
    if (!Number.isFinite(outcome.loss)) throw diverged('loss', outcome.loss, number, learningRate)
    count[0] = outcome.trainedTokens
    await run(norm, { count, [outputBinding('factor')]: factor, [outputBinding('norm')]: length }, signal)
    outcome.gradNorm = length[0] ?? NaN
    if (!Number.isFinite(outcome.gradNorm))
      throw diverged('gradient norm', outcome.gradNorm, number, learningRate)
    schedule.set([learningRate, number])
    // Not to be interrupted: half an update could not be gone on from.
    await run(update, { factor, schedule })
    return outcome
  }
  return { state, step, opSeconds }
}

const diverged = (what: string, value: number, step: number, learningRate: number) =>
  new DivergedError(
    `step ${step}: the ${what} is ${value}, so the step was not taken (learning rate ${learningRate.toPrecision(3)}). ` +
      'Lower learning_rate, raise warmup_steps, or look at the data; --resume goes on from the last checkpoint. If the first step fails, the base weights hold numbers that are not finite.',
  )
