/**
 * Runs a program in stages over a window of micro-batches: all of them pass a layer while the next layer's
 * weights are loaded, then its own are released. So a step reads the weights twice, for any number of
 * micro-batches.
 */
import type { BoundRun, DeviceBuffer, Engine } from '@cairn-tune/native'
import { prepare, type Buffers, type Plan, type Program, type ByteRange } from '@cairn-tune/program'
import type { StreamedProgram } from './plan-streamed.ts'

export type StreamedRun = {
  /** Runs the program on the first `count` micro-batches, in order. */
  run(count: number, signal?: AbortSignal): Promise<void>
}

type StreamedOptions = {
  engine: Engine
  streamed: StreamedProgram
  /** At least as large as the largest stage. */
  arena: DeviceBuffer
  /** Memory for carried tensors: the bytes of one micro-batch times the size of a window. */
  carried: DeviceBuffer
  base: ReadonlyMap<string, DeviceBuffer>
  /** Buffers that all programs share, and those of each micro-batch of a window. */
  shared: Buffers
  lent: readonly Buffers[]
  run: (bound: BoundRun, signal?: AbortSignal) => Promise<void>
}

export function createStreamedRun(options: StreamedOptions): StreamedRun {
  const { engine, streamed, base, run } = options
  const stages = streamed.stages.map(({ program, carried: spans }, i) => {
    const { whole = [], rows = [] } = streamed.weights[i] ?? {}
    const buffersOf = (names: readonly string[]) => names.flatMap(name => base.get(name) ?? [])
    return {
      bound: bindStage(options, { program, spans, plan: streamed.plans[i] }),
      whole: buffersOf(whole),
      all: buffersOf([...whole, ...rows]),
    }
  })

  async function readIn(weights: readonly DeviceBuffer[]): Promise<void> {
    for (const weight of weights) await engine.readIn(weight)
  }

  return {
    async run(count, signal) {
      await readIn(stages[0]?.whole ?? [])
      for (const [i, { bound, all }] of stages.entries()) {
        const next = stages[i + 1]
        const reading = readIn(next?.whole ?? [])
        let isWhole = false
        try {
          for (const one of bound.slice(0, count)) await run(one, signal)
          isWhole = true
        } finally {
          await reading
          // At most this layer and the next are in memory, and none after an aborted window.
          const kept = isWhole ? (next?.all ?? []) : []
          for (const weight of [...all, ...(next?.all ?? [])])
            if (!kept.includes(weight)) engine.letGo(weight)
        }
      }
    },
  }
}

type StageToBind = { program: Program; plan: Plan | undefined; spans: ReadonlyMap<string, ByteRange> }

/** Binds a stage to the memory of each micro-batch once, instead of in every run. */
function bindStage(
  { engine, arena, carried, shared, lent, streamed }: StreamedOptions,
  { program, plan, spans }: StageToBind,
): BoundRun[] {
  const prepared = prepare(engine, program, plan, arena)
  return lent.map((own, index) => {
    const start = index * streamed.carriedBytes
    const buffers: Record<string, DeviceBuffer> = {}
    for (const name of prepared.bindings) {
      const span = spans.get(name)
      const part = span && engine.part(carried, start + span.from, start + span.to)
      const buffer = part ?? own[name] ?? shared[name]
      if (buffer) buffers[name] = buffer
    }
    return prepared.bind(buffers)
  })
}
