/** Buffers of a micro-batch for the programs of a step. */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { floatsOf } from '@cairn-tune/ops'
import { outputBinding, type Buffers } from '@cairn-tune/program'
import { padCuSeqlens, type Batch } from './data/batches.ts'
import { COUNTED, IS_REAL, RANDOM, type MicroStep } from './record-step.ts'

export type BatchBuffers = {
  buffers: Buffers
  write(batch: Batch): void
  /** Writes the key of stochastic rounding and dropout for the micro-batch with this number. */
  writeRandom(seed: number, index: number): void
  /** The loss of the last run. */
  readLoss(): Promise<number>
}

export function createBatchBuffers(
  engine: Engine,
  { slots, boundaries }: Pick<MicroStep, 'slots' | 'boundaries'>,
): BatchBuffers {
  const rows = new Map<string, DeviceBuffer>(
    ['ids', 'targets', 'positions', IS_REAL].map(name => [name, engine.allocate(slots * 4)]),
  )
  const [cuSeqlens, random] = [engine.allocate(boundaries * 4), engine.allocate(12)]
  const [counted, loss] = [engine.allocate(4), engine.allocate(4)]
  return {
    buffers: {
      ...Object.fromEntries(rows),
      cuSeqlens,
      [RANDOM]: random,
      [COUNTED]: counted,
      [outputBinding('loss')]: loss,
    },
    write(batch) {
      const { tokens: ids, targets, positions, isReal } = batch
      engine.write(counted, Float32Array.of(batch.trainedTokens))
      for (const [name, values] of Object.entries({ ids, targets, positions, [IS_REAL]: isReal })) {
        const buffer = rows.get(name)
        if (buffer) engine.write(buffer, values)
      }
      engine.write(cuSeqlens, padCuSeqlens(batch, boundaries))
    },
    writeRandom: (seed, index) =>
      engine.write(random, Int32Array.of(seed | 0, Math.floor(seed / 2 ** 32) | 0, index)),
    readLoss: () => readNumber(engine, loss),
  }
}

/** The first f32 of a buffer. */
export async function readNumber(engine: Engine, buffer: DeviceBuffer): Promise<number> {
  return floatsOf(await engine.read(buffer, 0, 4))[0] ?? NaN
}
