/**
 * How the micro-batches of a step, or of an evaluation, pass through its program: one after the other through
 * all of it, or for a streamed base all of them through each stage. The bits are the same, because each
 * gradient gets its parts in the order of micro-batches either way.
 */
import type { BoundRun, DeviceBuffer, Engine } from '@cairn-tune/native'
import type { Buffers, PreparedProgram } from '@cairn-tune/program'
import { createBatchBuffers, type BatchBuffers } from './batch-buffers.ts'
import type { PreferenceScorer } from './preference-scorer.ts'
import type { TrainConfig } from './config.ts'
import type { Batch } from './data/batches.ts'
import type { StreamedPlans } from './plan-streamed.ts'
import type { MicroStep } from './record-step.ts'
import { createStreamedRun, type StreamedRun } from './run-streamed.ts'

/** A completed micro-batch. `baseline` is the reference point of its answers in kto. */
type Passed = { batch: Batch; loss: number; baseline: number }

/**
 * `first` is the number of the first micro-batch, and `stride` the difference to the next: they determine the
 * random numbers of a step.
 */
type Pass = (
  window: Iterable<Batch>,
  options: { first?: number; stride?: number; signal?: AbortSignal | undefined },
) => AsyncGenerator<Passed>

/** Runs a program with the shared buffers and `buffers`. */
type RunProgram = (prepared: PreparedProgram, buffers: Buffers, signal?: AbortSignal) => Promise<void>

/** Runs micro-batches one after the other in the same buffers. */
export const runMicroBatches = (
  prepared: PreparedProgram,
  { own, scorer, run, seed }: { own: BatchBuffers; scorer: PreferenceScorer; run: RunProgram; seed: number },
): Pass =>
  async function* (window, { first, stride = 1, signal }) {
    let index = first
    for (const batch of window) {
      const baseline = await scorer.writeBaseline(batch, signal)
      own.write(batch)
      scorer.write(batch)
      if (index !== undefined) own.writeRandom(seed, index)
      if (index !== undefined) index += stride
      await run(prepared, {}, signal)
      yield { batch, loss: await own.readLoss(), baseline }
    }
  }

type StreamedPasses = { step: Pass; evaluation: Pass | undefined }

type StreamedOptions = {
  engine: Engine
  config: TrainConfig
  micro: MicroStep
  plans: StreamedPlans
  arena: DeviceBuffer
  base: ReadonlyMap<string, DeviceBuffer>
  /** Buffers shared by all programs. */
  shared: Buffers
  /** Sums of gradients of each micro-batch of a window. Empty if all have those of `shared`. */
  sums: readonly Buffers[]
  run: (bound: BoundRun, signal?: AbortSignal) => Promise<void>
}

/** Runs a window of micro-batches through each stage, each in its own buffers. */
export function createStreamedPasses(options: StreamedOptions): StreamedPasses {
  const { engine, config, micro, plans, sums, ...rest } = options
  const size = config.gradient_accumulation_steps
  const own = Array.from({ length: size }, () => createBatchBuffers(engine, micro))
  const carried = engine.allocate(plans.carriedBytes)
  const pass = (streamed: StreamedRun): Pass =>
    async function* (batches, { first, stride = 1, signal }) {
      let index = first
      for (const window of inWindows(batches, size)) {
        for (const [i, batch] of window.entries()) {
          own[i]?.write(batch)
          if (index !== undefined) own[i]?.writeRandom(config.seed, index)
          if (index !== undefined) index += stride
        }
        await streamed.run(window.length, signal)
        for (const [i, batch] of window.entries())
          yield { batch, loss: (await own[i]?.readLoss()) ?? NaN, baseline: 0 }
      }
    }
  const ready = (streamed: StreamedPlans['step']) =>
    pass(
      createStreamedRun({
        engine,
        streamed,
        carried,
        lent: own.map(({ buffers }, i) => ({ ...buffers, ...sums[i] })),
        ...rest,
      }),
    )
  return { step: ready(plans.step), evaluation: plans.evaluation && ready(plans.evaluation) }
}

function* inWindows(batches: Iterable<Batch>, size: number): Generator<Batch[]> {
  let window: Batch[] = []
  for (const batch of batches) {
    window.push(batch)
    if (window.length < size) continue
    yield window
    window = []
  }
  if (window.length > 0) yield window
}
