/**
 * A training step on an engine: buffers of all trained tensors, and runs of the programs in record-step.ts.
 */
import type { BoundRun, DeviceBuffer, Engine } from '@cairn-tune/native'
import { byteLength, countElements, type OpName } from '@cairn-tune/ops'
import { ropeTables, type ModelConfig } from '@cairn-tune/models'
import { adoptAll, outputBinding, prepare, type Buffers, type PreparedProgram } from '@cairn-tune/program'
import { ADAPTERS, allocateCopies } from './adapter-copies.ts'
import { createBatchBuffers, readNumber } from './batch-buffers.ts'
import { createPreferenceScorer } from './preference-scorer.ts'
import type { TrainConfig } from './config.ts'
import type { Batch } from './data/batches.ts'
import type { Document } from './data/documents.ts'
import { diverged } from './errors.ts'
import { createExpertSquares } from './experts/squares-of-experts.ts'
import { roundsOf, sumsOf, type RankGroup, type Share } from './ranks/group.ts'
import { addRanks, exchangeUnlessStopped, type WindowSums } from './ranks/shared-step.ts'
import type { RunPlan, PlannedProgram } from './estimate.ts'
import { noRewards } from './rewards.ts'
import { createDividedPasses, createStreamedPasses, runMicroBatches } from './passes.ts'
import { gradientOf, rowIdsOf, type MicroStep } from './record-step.ts'
import { writeTrainedRows } from './write-trained-rows.ts'
import { adapterPrefixes, recordNorm, recordUpdate, stateTensors, type StateTensor } from './record-update.ts'

/**
 * The state that a step changes: the trained tensors by name, the optimizer's states as `m:<name>` and
 * `v:<name>`, histories as `amax:<name>`.
 */
export type TrainState = ReadonlyMap<string, DeviceBuffer>

export type Stepper = {
  state: TrainState
  /** The whole matrices of weights of which some rows are trained, with the present rows. */
  tables: ReadonlyMap<string, DeviceBuffer>
  /**
   * Runs one optimizer step over a window of micro-batches: with several ranks, over this one's share.
   * `number` counts from 1. An abort leaves the state as it was.
   */
  step(
    window: Iterable<Batch>,
    options: { number: number; learningRate: number; signal?: AbortSignal | undefined },
  ): Promise<StepOutcome>
  /**
   * The mean loss over batches with the present weights. Does not change the state. Several ranks divide the
   * batches, and all get the mean.
   */
  evaluate(batches: Iterable<Batch>, signal?: AbortSignal): Promise<{ loss: number; tokens: number }>
  /**
   * The reference's log-probability of the trained tokens of each document. `adapter` has the values of the
   * reference's adapter, by name.
   */
  reference(
    documents: readonly Document[],
    adapter: ReadonlyMap<string, Float32Array> | undefined,
    signal?: AbortSignal,
  ): Promise<Float32Array>
  /** Seconds by op of all steps so far. */
  opSeconds: ReadonlyMap<OpName, number>
}

/** Sums over the micro-batches of all ranks. The loss is a mean. `rewards` is set for preference methods. */
type StepOutcome = Omit<WindowSums, 'counted'> & { gradNorm: number }

export type StepperOptions = {
  engine: Engine
  config: TrainConfig
  model: ModelConfig
  micro: MicroStep
  /** The chosen plan, and its program. */
  planned: Pick<RunPlan, 'program' | 'plan' | 'evaluation' | 'reference' | 'scoring' | 'streamed' | 'divided'>
  /** The frozen weights by name. */
  base: ReadonlyMap<string, DeviceBuffer>
  /** The whole matrices of weights of which some rows are trained, by name. */
  tables: ReadonlyMap<string, DeviceBuffer>
  /** Writes the initial value of one tensor or state. All are zero before. */
  fill: (tensor: StateTensor, buffer: DeviceBuffer) => Promise<void>
  /** The ranks of the run, if there are several. */
  group?: RankGroup | undefined
  /** The micro-batches of a step that this rank computes. All by default. */
  share?: Share | undefined
}

export async function createStepper({
  engine,
  config,
  model,
  micro,
  planned,
  base,
  tables,
  fill,
  group,
  share = { total: config.gradient_accumulation_steps, rank: 0, ranks: 1 },
}: StepperOptions): Promise<Stepper> {
  const state = new Map<string, DeviceBuffer>()
  const copied = micro.copies && allocateCopies(engine, micro.copies, adapterPrefixes(config))
  for (const tensor of stateTensors(micro, config)) {
    const buffer = copied?.parts.get(tensor.name) ?? engine.allocate(byteLength(tensor.dtype, tensor.shape))
    await fill(tensor, buffer)
    state.set(tensor.name, buffer)
  }
  const writeRows = () => writeTrainedRows(engine, micro.tables, tables, state)
  await writeRows()
  await copied?.renew()
  const allocateSums = () =>
    new Map(
      micro.trained.map(({ name, shape }) => [
        gradientOf(name),
        copied?.parts.get(gradientOf(name)) ?? engine.allocate(countElements(shape) * 4),
      ]),
    )
  const gradients = allocateSums()
  const histories = micro.histories.flatMap(({ name }) => state.get(name) ?? [])
  const ofExperts = new Set(micro.trained.flatMap(({ name, slice }) => (slice ? gradientOf(name) : [])))
  // The sums of adapters with copies are parts of one buffer, and those of a rank's own experts are whole.
  const isAlone = (name: string) => copied?.parts.has(name) === true || ofExperts.has(name)
  const gradientSums = [
    copied?.buffers[gradientOf(ADAPTERS)],
    ...[...gradients].map(([name, buffer]) => (isAlone(name) ? undefined : buffer)),
  ].filter(buffer => buffer !== undefined)

  const programs = [planned, planned.evaluation, planned.reference, planned.scoring]
  const { streamed, divided } = planned
  const rounds = roundsOf(share)
  // Micro-batches pass a streamed layer together, but ranks add them one by one.
  const ownSums =
    streamed && group ? Array.from({ length: rounds }, (_, i) => (i === 0 ? gradients : allocateSums())) : []
  const arena = engine.allocate(
    divided?.stageBytes ??
      streamed?.arenaBytes ??
      Math.max(...programs.map(one => one?.plan.arenaBytes ?? 0)),
  )
  const ready = ({ program, plan }: PlannedProgram) => prepare(engine, program, plan, arena)
  const [norm, update] = [
    prepare(engine, recordNorm(micro, config)),
    prepare(engine, recordUpdate(micro, config)),
  ]
  const scoring = planned.scoring && ready(planned.scoring)
  const floats = (count: number) => engine.allocate(count * 4)
  const [factor, length, count, schedule] = [floats(1), floats(1), floats(1), floats(2)]
  const own = createBatchBuffers(engine, micro)
  const shared = {
    ...Object.fromEntries(base),
    ...Object.fromEntries(tables),
    ...adoptAll(
      engine,
      Object.fromEntries(micro.tables.map(({ name, rows }) => [rowIdsOf(name), Int32Array.from(rows)])),
    ),
    ...Object.fromEntries(state),
    ...Object.fromEntries(gradients),
    ...copied?.buffers,
    ...adoptAll(engine, ropeTables(model, config.max_seq_length)),
    ...own.buffers,
  }
  const opSeconds = new Map<OpName, number>()

  const bind = (prepared: PreparedProgram, buffers: Buffers = {}) =>
    prepared.bind({ ...shared, ...scorer.buffers, ...buffers })
  const run = (prepared: PreparedProgram, buffers: Buffers, signal?: AbortSignal): Promise<void> =>
    runBound(bind(prepared, buffers), signal)

  async function runBound(bound: BoundRun, signal?: AbortSignal): Promise<void> {
    const { seconds } = await bound(signal ? { signal } : {})
    for (const [op, spent] of seconds) opSeconds.set(op, (opSeconds.get(op) ?? 0) + spent)
  }

  const scorer = createPreferenceScorer({
    engine,
    config,
    boundaries: micro.boundaries,
    program: planned.program,
    scoring,
    run,
    writeBatch: batch => {
      own.write(batch)
      scorer.write(batch)
    },
  })
  const squares = divided && group && createExpertSquares(engine, group, micro.trained, gradients)
  const passOptions = { engine, own, scorer, bind, run, seed: config.seed }
  const sums = ownSums.map(one => Object.fromEntries(one))
  const common = { engine, arena, shared, run: runBound }
  const dividedPasses =
    divided && group && createDividedPasses({ ...common, seed: config.seed, plans: divided, group, own })
  const streamedPasses =
    streamed && createStreamedPasses({ ...common, config, micro, plans: streamed, base, sums })
  const passes = dividedPasses ??
    streamedPasses ?? {
      step: runMicroBatches(ready(planned), passOptions),
      evaluation: planned.evaluation && runMicroBatches(ready(planned.evaluation), passOptions),
    }

  async function evaluate(
    batches: Iterable<Batch>,
    signal?: AbortSignal,
  ): Promise<{ loss: number; tokens: number }> {
    if (!passes.evaluation) throw new Error('[evaluate] no evaluation was planned')
    let [sum, counted, tokens] = [0, 0, 0]
    const all = [...batches]
    const own = group ? all.filter((_, i) => i % group.ranks === group.rank) : all
    const shareOfAll = { total: all.length, rank: group?.rank ?? 0, ranks: group?.ranks ?? 1 }
    const computePart = async () => {
      for await (const { batch, loss } of passes.evaluation?.(own, { signal, share: shareOfAll }) ?? []) {
        sum += loss
        counted += batch.counted
        tokens += batch.trainedTokens
      }
    }
    if (!group) await computePart()
    else {
      await exchangeUnlessStopped(group, signal, computePart)
      ;[sum = NaN, counted = NaN, tokens = NaN] = sumsOf(await group.gather([sum, counted, tokens]))
    }
    return { loss: sum / counted, tokens }
  }
  let gradNorm = 0

  async function step(
    window: Iterable<Batch>,
    { number, learningRate, signal }: Parameters<Stepper['step']>[1],
  ): Promise<StepOutcome> {
    for (const sum of [...gradientSums, ...ownSums.flatMap(one => [...one.values()])]) engine.clear(sum)
    for (const [name, sum] of gradients) if (ofExperts.has(name)) engine.clear(sum)
    // Discard the magnitudes that an aborted attempt observed.
    for (const history of histories) engine.clear(history, 0, 4)
    const rewards = scorer.isOn ? noRewards() : undefined
    const sums: WindowSums = { rewards, loss: 0, counted: 0, realTokens: 0, trainedTokens: 0, slots: 0 }
    const first = (number - 1) * share.total + share.rank
    const passed = passes.step(window, { first, share, signal })
    /** Adds the next micro-batch. False if there is none. */
    const computeNext = async () => {
      const { value, done } = await passed.next()
      if (done) return false
      const { batch, loss, baseline } = value
      sums.loss += loss
      if (rewards) await scorer.addRewards(rewards, batch, baseline)
      sums.counted += batch.counted
      sums.realTokens += batch.realTokens
      sums.trainedTokens += batch.trainedTokens
      sums.slots += batch.tokens.length
      return true
    }
    if (group) {
      const gradientsOf = (round: number) => [...(ownSums[round]?.values() ?? gradientSums)]
      await addRanks(
        { engine, group, signal, sums, rounds, gradientsOf, histories, previousNorm: gradNorm },
        computeNext,
      )
    } else while (await computeNext());
    const { counted, ...rest } = sums
    const loss = sums.loss / counted
    if (!Number.isFinite(loss)) throw diverged('loss', loss, number, learningRate)
    engine.write(count, Float32Array.of(counted))
    await squares?.compute()
    await run(
      norm,
      { count, ...squares?.buffers, [outputBinding('factor')]: factor, [outputBinding('norm')]: length },
      // Ranks stop together, before their sums are added.
      group ? undefined : signal,
    )
    gradNorm = await readNumber(engine, length)
    if (!Number.isFinite(gradNorm)) throw diverged('gradient norm', gradNorm, number, learningRate)
    engine.write(schedule, Float32Array.of(learningRate, number))
    // Without the signal: a run cannot resume from half an update.
    await run(update, { factor, schedule })
    await copied?.renew()
    await writeRows()
    return { ...rest, loss, gradNorm }
  }

  const reference: Stepper['reference'] = async (documents, adapter, signal) => {
    if (!planned.reference) throw new Error('[reference] no reference was planned')
    return await scorer.scoreDocuments(ready(planned.reference), documents, adapter, signal)
  }
  return { state, tables, step, evaluate, reference, opSeconds }
}

/** The bytes of a state tensor, valid until the next step. */
export async function readState(engine: Engine, state: TrainState, name: string): Promise<Uint8Array> {
  const buffer = state.get(name)
  if (!buffer) throw new Error(`[readState] unknown state ${name}`)
  return await engine.read(buffer)
}
