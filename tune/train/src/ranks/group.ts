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
  /** Sends part r of `sent` to rank r. Returns the parts received, in the order of ranks. */
  exchangeBytes(sent: Uint8Array): Promise<Uint8Array>
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
    exchangeBytes: sent => collectives.allToAll(sent),
    async addRound(engine, buffers, isFirst) {
      await collectives.addRound(await Promise.all(buffers.map(buffer => engine.read(buffer))), isFirst)
    },
    async takeSums(engine, buffers) {
      const views = await Promise.all(buffers.map(buffer => engine.read(buffer)))
      await collectives.takeSums(views)
      if (engine.readsInPlace) return
      for (const [i, buffer] of buffers.entries()) {
        const sums = views[i]
        if (sums) engine.write(buffer, sums)
      }
    },
    abort() {
      for (const callback of callbacks) callback()
      collectives.abort()
    },
    onAbort: callback => void callbacks.push(callback),
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
