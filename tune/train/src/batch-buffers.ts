/** Buffers of a micro-batch for the programs of a step. */
import type { DeviceBuffer, Engine, QueuedRun } from '@cairn-tune/native'
import { floatsOf } from '@cairn-tune/ops'
import { outputBinding, type Buffers } from '@cairn-tune/program'
import { padCuSeqlens, type Batch } from './data/batches.ts'
import { COUNTED, IS_REAL, RANDOM, type MicroStep } from './record-step.ts'

type Writes = QueuedRun['writes']

export type BatchBuffers = {
  buffers: Buffers
  write(batch: Batch): void
  /** Writes the key of stochastic rounding and dropout for the micro-batch with this number. */
  writeRandom(seed: number, index: number): void
  /** What `write` writes, and with an index `writeRandom`. */
  writesOf(batch: Batch, seed: number, index: number | undefined): Writes
  /** Where a run writes the loss. */
  loss: DeviceBuffer
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
  const ofBatch = (batch: Batch): Writes => {
    const { tokens: ids, targets, positions, isReal } = batch
    const values = { ids, targets, positions, [IS_REAL]: isReal }
    return [
      [counted, Float32Array.of(batch.trainedTokens)],
      ...[...rows].flatMap(([name, buffer]) => {
        const source = values[name as keyof typeof values]
        return source ? [[buffer, source] as const] : []
      }),
      [cuSeqlens, padCuSeqlens(batch, boundaries)],
    ]
  }
  const keyOf = (seed: number, index: number) =>
    [random, Int32Array.of(seed | 0, Math.floor(seed / 2 ** 32) | 0, index)] as const
  return {
    loss,
    writesOf: (batch, seed, index) => [
      ...ofBatch(batch),
      ...(index === undefined ? [] : [keyOf(seed, index)]),
    ],
    buffers: {
      ...Object.fromEntries(rows),
      cuSeqlens,
      [RANDOM]: random,
      [COUNTED]: counted,
      [outputBinding('loss')]: loss,
    },
    write(batch) {
      for (const [buffer, values] of ofBatch(batch)) engine.write(buffer, values)
    },
    writeRandom: (seed, index) => engine.write(...keyOf(seed, index)),
    readLoss: () => readNumber(engine, loss),
  }
}

/** The first f32 of a buffer. */
export async function readNumber(engine: Engine, buffer: DeviceBuffer): Promise<number> {
  return floatsOf(await engine.read(buffer, 0, 4))[0] ?? NaN
}
