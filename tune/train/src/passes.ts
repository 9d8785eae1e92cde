/**
 * How the micro-batches of a step, or of an evaluation, pass through its program: one after the other through
 * all of it, or for a streamed base all of them through each stage. The bits are the same, because each
 * gradient gets its parts in the order of micro-batches either way.
 */
import type { BoundRun, DeviceBuffer, Engine } from '@cairn-tune/native'
import { floatsOf } from '@cairn-tune/ops'
import type { Buffers, PreparedProgram } from '@cairn-tune/program'
import { createBatchBuffers, type BatchBuffers } from './batch-buffers.ts'
import type { PreferenceScorer } from './preference-scorer.ts'
import type { TrainConfig } from './config.ts'
import type { Batch } from './data/batches.ts'
import type { StreamedPlans } from './plan-streamed.ts'
import { createDividedRun, type PlannedDivided } from './experts/run-divided.ts'
import type { DividedPlans } from './experts/plan-divided.ts'
import { roundsOf, type RankGroup, type Share } from './ranks/group.ts'
import type { MicroStep } from './record-step.ts'
import { createStreamedRun, type StreamedRun } from './run-streamed.ts'

/** A completed micro-batch. `baseline` is the reference point of its answers in kto. */
type Passed = { batch: Batch; loss: number; baseline: number }

/**
 * `first` is the number of the first micro-batch, which determines the random numbers of a step. The next has
 * the next number, or with a share the one as many ranks later. Ranks that divide experts also take part in
 * the rounds in which they have no micro-batch.
 */
type Pass = (
  window: Iterable<Batch>,
  options: { first?: number; share?: Share; signal?: AbortSignal | undefined },
) => AsyncGenerator<Passed>

/** Runs a program with the shared buffers and `buffers`. */
type RunProgram = (prepared: PreparedProgram, buffers: Buffers, signal?: AbortSignal) => Promise<void>

/** Runs micro-batches one after the other in the same buffers. */
export function runMicroBatches(prepared: PreparedProgram, options: MicroBatchOptions): Pass {
  const { engine, own, scorer, run, seed } = options
  const queued = engine.runQueue && !scorer.isOn ? queueMicroBatches(prepared, options) : undefined
  return async function* (window, { first, share, signal }) {
    // Ranks add the gradients of each micro-batch before the next.
    if (queued && (share?.ranks ?? 1) === 1) {
      yield* queued(window, { ...(first === undefined ? {} : { first }), signal })
      return
    }
    let index = first
    for (const batch of window) {
      const baseline = await scorer.writeBaseline(batch, signal)
      own.write(batch)
      scorer.write(batch)
      if (index !== undefined) own.writeRandom(seed, index)
      if (index !== undefined) index += share?.ranks ?? 1
      await run(prepared, {}, signal)
      yield { batch, loss: await own.readLoss(), baseline }
    }
  }
}

type MicroBatchOptions = {
  engine: Engine
  own: BatchBuffers
  scorer: PreferenceScorer
  bind: (prepared: PreparedProgram) => BoundRun
  run: RunProgram
  seed: number
}

/** Micro-batches for which a queue waits once. Their inputs are in memory together. */
const QUEUE = 16

/** The same in queues of the engine, which copies each loss out of its buffer. */
function queueMicroBatches(prepared: PreparedProgram, { engine, own, bind, seed }: MicroBatchOptions): Pass {
  const all = engine.allocate(QUEUE * 4)
  const losses = Array.from({ length: QUEUE }, (_, i) => engine.part(all, i * 4, i * 4 + 4))
  return async function* (window, { first, signal }) {
    let index = first
    for (const batches of inWindows(window, QUEUE)) {
      const run = bind(prepared)
      const queue = batches.flatMap((batch, i) => {
        const to = losses[i]
        if (!to) return []
        const writes = own.writesOf(batch, seed, index)
        if (index !== undefined) index++
        return [{ run, writes, copy: [own.loss, to] as const }]
      })
      await engine.runQueue?.(queue, signal ? { signal } : {})
      const values = floatsOf(await engine.read(all))
      for (const [i, batch] of batches.entries()) yield { batch, loss: values[i] ?? NaN, baseline: 0 }
    }
  }
}

type Passes = { step: Pass; evaluation: Pass | undefined }

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
export function createStreamedPasses(options: StreamedOptions): Passes {
  const { engine, config, micro, plans, sums, ...rest } = options
  const size = config.gradient_accumulation_steps
  const own = Array.from({ length: size }, () => createBatchBuffers(engine, micro))
  const carried = engine.allocate(plans.carriedBytes)
  const pass = (streamed: StreamedRun): Pass =>
    async function* (batches, { first, share, signal }) {
      let index = first
      for (const window of inWindows(batches, size)) {
        for (const [i, batch] of window.entries()) {
          own[i]?.write(batch)
          if (index !== undefined) own[i]?.writeRandom(config.seed, index)
          if (index !== undefined) index += share?.ranks ?? 1
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

type DividedOptions = {
  engine: Engine
  seed: number
  plans: DividedPlans
  group: RankGroup
  arena: DeviceBuffer
  own: BatchBuffers
  shared: Buffers
  run: (bound: BoundRun) => Promise<void>
}

/** Runs a micro-batch of each rank at a time through a program whose experts are divided among them. */
export function createDividedPasses({ plans, own, seed, ...options }: DividedOptions): Passes {
  const { engine, group, shared, arena, run } = options
  const { own: ownBytes, experts } = plans.carriedBytes
  const carried = {
    own: engine.allocate(ownBytes),
    experts: Array.from({ length: group.ranks }, () => engine.allocate(experts)),
  }
  const pass = (divided: PlannedDivided): Pass => {
    const { local } = plans.share
    const runRound = createDividedRun({ engine, divided, local, group, arena, carried, buffers: shared, run })
    return async function* (window, { first, share }) {
      if (!share) throw new Error('[createDividedPasses] no share')
      const batches = window[Symbol.iterator]()
      for (let round = 0; round < roundsOf(share); round++) {
        const { value: batch } = batches.next() as { value: Batch | undefined }
        if (batch) own.write(batch)
        if (first !== undefined) own.writeRandom(seed, first + round * share.ranks)
        await runRound(Array.from({ length: share.ranks }, (_, r) => round * share.ranks + r < share.total))
        if (batch) yield { batch, loss: await own.readLoss(), baseline: 0 }
      }
    }
  }
  return { step: pass(plans.step), evaluation: plans.evaluation && pass(plans.evaluation) }
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
