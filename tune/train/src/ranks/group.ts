/** The ranks of a run, as training uses them: exchanges of numbers, and sums of buffers of an engine. */
import type { Collectives, DeviceBuffer, Engine } from '@cairn-tune/native'

export type RankGroup = {
  readonly rank: number
  readonly ranks: number
  /** How they communicate: `shared memory`, `MPI`, or with NCCL besides. */
  readonly transport: string
  /** The numbers of every rank, in the order of ranks. All ranks give equally many. */
  gather(values: readonly number[]): Promise<number[][]>
  /** Replaces f32 buffers by their sums over all ranks, added from rank 0 up. */
  sumBuffers(engine: Engine, buffers: readonly DeviceBuffer[]): Promise<void>
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
    async sumBuffers(engine, buffers) {
      const views = await Promise.all(buffers.map(buffer => engine.read(buffer)))
      await collectives.allReduce(views)
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

/** The micro-batches [from, to) of the `total` ones of a step that a rank computes. */
export type Share = { total: number; from: number; to: number }

export const shareOf = (total: number, rank: number, ranks: number): Share => ({
  total,
  from: Math.floor((total * rank) / ranks),
  to: Math.floor((total * (rank + 1)) / ranks),
})
