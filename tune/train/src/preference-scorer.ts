/**
 * Buffers and programs for scoring answers in preference methods: inputs of comparisons, and
 * log-probabilities of answers. Supervised runs allocate none of them.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { byteLength, floatsOf } from '@cairn-tune/ops'
import {
  adoptAll,
  outputBinding,
  type Buffers,
  type PreparedProgram,
  type Program,
} from '@cairn-tune/program'
import type { TrainConfig } from './config.ts'
import type { Batch } from './data/batches.ts'
import { EXTRAS, type ComparedBatch } from './data/comparisons.ts'
import type { Document } from './data/documents.ts'
import { scoringBatches } from './data/scoring-batches.ts'
import { addRewards, baselineOf, type RewardSums } from './rewards.ts'

export type PreferenceScorer = {
  /** Buffers that all programs share. */
  buffers: Buffers
  isOn: boolean
  /** Writes the inputs of a batch other than its tokens. */
  write(batch: Batch): void
  /** Writes and returns the KL baseline of a micro-batch (kto). 0 for other methods. */
  writeBaseline(batch: Batch, signal?: AbortSignal): Promise<number>
  /** Adds the rewards of the last batch. */
  addRewards(sums: RewardSums, batch: Batch, baseline: number): Promise<void>
  /** Scores documents with a program. */
  scoreDocuments(
    prepared: PreparedProgram,
    documents: readonly Document[],
    adapter: ReadonlyMap<string, Float32Array> | undefined,
    signal?: AbortSignal,
  ): Promise<Float32Array>
}

export type PreferenceScorerOptions = {
  engine: Engine
  config: TrainConfig
  /** Boundaries of the stepper's micro-batches. */
  boundaries: number
  /** The step's program. Its inputs determine which buffers are needed. */
  program: Program
  /** Computes log-probabilities of answers under the current weights (kto). */
  scoring: PreparedProgram | undefined
  run: (prepared: PreparedProgram, buffers: Buffers, signal?: AbortSignal) => Promise<void>
  writeBatch: (batch: Batch) => void
}

export function createPreferenceScorer(options: PreferenceScorerOptions): PreferenceScorer {
  const { engine, config, boundaries, program, scoring, run, writeBatch } = options
  const extras = new Map<string, DeviceBuffer>(
    EXTRAS.flatMap(name => {
      const input = program.tensors.find(tensor => tensor.isInput && tensor.name === name)
      return input ? [[name, engine.allocate(byteLength(input.dtype, input.shape))] as const] : []
    }),
  )
  const scores = engine.allocate(boundaries * 4 + 4)
  const readScores = async (count: number) => floatsOf(await engine.read(scores, 0, count * 4)).slice()

  async function score(
    prepared: PreparedProgram,
    buffers: Buffers,
    documents: readonly Document[],
    signal?: AbortSignal,
  ): Promise<Float32Array> {
    const found = new Float32Array(documents.length)
    for (const { batch, from, count } of scoringBatches(documents, config, boundaries)) {
      writeBatch(batch)
      await run(prepared, buffers, signal)
      found.set(await readScores(count), from)
    }
    return found
  }

  return {
    buffers: { ...Object.fromEntries(extras), [outputBinding('scores')]: scores },
    isOn: extras.size > 0,
    write(batch) {
      const given = batch.extras?.() ?? {}
      for (const [name, buffer] of extras) {
        const values = given[name]
        if (!values) continue
        engine.clear(buffer)
        engine.write(buffer, values)
      }
    },
    async writeBaseline(batch, signal) {
      const buffer = extras.get('baseline')
      if (!buffer || !scoring) return 0
      const { units } = batch as ComparedBatch
      const mismatched = units.flatMap(unit => unit.mismatched ?? [])
      const baseline = baselineOf(units, await score(scoring, {}, mismatched, signal))
      engine.write(buffer, Float32Array.of(baseline))
      return baseline
    },
    async addRewards(sums, batch, baseline) {
      const { units } = batch as ComparedBatch
      const answerScores = await readScores(units.reduce((sum, { sequences }) => sum + sequences.length, 0))
      addRewards(sums, units, answerScores, { ...config, baseline })
    },
    async scoreDocuments(prepared, documents, adapter, signal) {
      // With the run's present scales, the scores would depend on the time of the call.
      const unscaled = prepared.bindings
        .filter(name => name.startsWith('amax:'))
        .map(name => [name, engine.allocate(prepared.bytesOf(name))] as const)
      const own = adoptAll(engine, Object.fromEntries(adapter ?? []))
      return await score(prepared, { ...Object.fromEntries(unscaled), ...own }, documents, signal)
    },
  }
}
