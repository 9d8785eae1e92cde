/** The ranks of a run, as training uses them: exchanges of numbers, and sums of buffers of an engine. */
import type { Collectives, DeviceBuffer, Engine } from '@cairn-tune/native'

export type RankGroup = {
  readonly rank: number
  readonly ranks: number
  /** How they communicate: `shared memory`, `MPI`, or with NCCL besides. */
  readonly transport: string
  /** The numbers of every rank, in the order of ranks. All ranks give equally many. */
  gather(values: readonly number[]): Promise<number[][]>
  /** The bytes of every rank, one after the other. All ranks give equally many. */
  gatherBytes(mine: Uint8Array): Promise<Uint8Array>
  /**
   * Sends buffer r of `sent` to rank r, and fills buffer r of `received` with what rank r sends. No buffer of
   * any rank has more than `largest` bytes.
   */
  exchange(
    engine: Engine,
    sent: readonly DeviceBuffer[],
    received: readonly DeviceBuffer[],
    largest: number,
  ): Promise<void>
  /**
   * Adds f32 buffers of all ranks, from rank 0 up, to the sums of earlier rounds. The first round discards
   * those of an earlier step.
   */
  addRound(engine: Engine, buffers: readonly DeviceBuffer[], isFirst: boolean): Promise<void>
  /** Replaces f32 buffers by the sums of all rounds. */
  takeSums(engine: Engine, buffers: readonly DeviceBuffer[]): Promise<void>
  /** Ends the group: waiting operations of every rank reject. */
  abort(): void
  /** Calls back when this rank ends the group. */
  onAbort(callback: () => void): void
}

export function createRankGroup(collectives: Collectives): RankGroup {
  const { rank, ranks, transport } = collectives
  const callbacks: (() => void)[] = []
  return {
    rank,
    ranks,
    transport,
    async gather(values) {
      const all = await collectives.allGather(new Uint8Array(Float64Array.from(values).buffer))
      const numbers = new Float64Array(all.buffer)
      return Array.from({ length: ranks }, (_, r) => [
        ...numbers.subarray(r * values.length, (r + 1) * values.length),
      ])
    },
    gatherBytes: mine => collectives.allGather(mine),
    async exchange(engine, sent, received, largest) {
      const own = await readAll(engine, sent)
      await changeAll(engine, received, views => collectives.exchange(own, views, largest))
    },
    async addRound(engine, buffers, isFirst) {
      await collectives.addRound(await readAll(engine, buffers), isFirst)
    },
    takeSums: (engine, buffers) => changeAll(engine, buffers, views => collectives.takeSums(views)),
    abort() {
      for (const callback of callbacks) callback()
      collectives.abort()
    },
    onAbort: callback => void callbacks.push(callback),
  }
}

const readAll = (engine: Engine, buffers: readonly DeviceBuffer[]): Promise<Uint8Array[]> =>
  Promise.all(buffers.map(buffer => engine.read(buffer)))

/** Changes the contents of buffers in host memory, which may be their own. */
async function changeAll(
  engine: Engine,
  buffers: readonly DeviceBuffer[],
  change: (views: readonly Uint8Array[]) => Promise<void>,
): Promise<void> {
  const views = await readAll(engine, buffers)
  await change(views)
  if (engine.readsInPlace) return
  for (const [i, buffer] of buffers.entries()) {
    const view = views[i]
    if (view) engine.write(buffer, view)
  }
}

/** Sums over ranks, from rank 0 up. */
export const sumsOf = (gathered: readonly (readonly number[])[]): number[] =>
  (gathered[0] ?? []).map((_, i) => gathered.reduce((sum, values) => sum + (values[i] ?? NaN), 0))

/**
 * The micro-batches of a step that a rank computes: those with the numbers rank, rank + ranks and so on. So
 * each round of one micro-batch per rank continues the order in which a single rank adds them.
 */
export type Share = { total: number; rank: number; ranks: number }

/** The rounds of a step. Some ranks have no micro-batch in the last one if they do not divide evenly. */
export const roundsOf = ({ total, ranks }: Share): number => Math.ceil(total / ranks)
