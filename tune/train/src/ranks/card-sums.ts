/** Sums of buffers over ranks whose engines are cards: NCCL moves the bytes, a program adds them in order. */
import type { Shape } from '@cairn-tune/ops'
import type { CardExchange, CudaEngine, DeviceBuffer, Engine } from '@cairn-tune/native'
import { createRecorder, prepare, type PreparedProgram } from '@cairn-tune/program'
import type { RankGroup } from './group.ts'

/** Slices begin at a multiple of this many numbers, as kernels want it. */
const ALIGNED = 256

const isCard = (engine: Engine): engine is CudaEngine => 'joinNccl' in engine

/**
 * The group with sums by NCCL, if every rank computes on a card and has the library. Otherwise sums pass
 * through the memory of the host, and a note says why.
 */
export async function withCardSums(
  group: RankGroup,
  engine: Engine,
  onNote: (line: string) => void,
): Promise<RankGroup> {
  const { rank, ranks } = group
  if (ranks === 1 || !isCard(engine)) return group
  // NVIDIA's library cannot use an emulated card; the emulated one is named.
  const isPossible = !engine.card.isEmulated || process.env['CAIRN_TUNE_NCCL'] !== undefined
  const found = isPossible ? idOrReason(engine) : 'an emulated card has none'
  const reasons = await group.gather([typeof found === 'string' ? 1 : 0])
  const missing = reasons.flatMap(([flag], r) => (flag === 1 ? [r] : []))
  if (missing.length > 0) {
    const own = typeof found === 'string' ? found : `rank ${missing.join(', ')} has no NCCL`
    onNote(`gradients pass through the memory of the host: ${own}`)
    return group
  }
  if (typeof found === 'string') throw new Error(`[withCardSums] ${found}`)
  const [id = []] = await group.gather([...found])
  const exchange = await engine.joinNccl({ id: Uint8Array.from(id), rank, ranks })
  group.onAbort(() => exchange.abort())
  const sums = createSums(engine, exchange, group)
  return {
    ...group,
    transport: `${group.transport}, NCCL`,
    async addRound(_, buffers, isFirst) {
      for (const buffer of buffers) await sums.add(buffer, isFirst)
    },
    async takeSums(_, buffers) {
      for (const buffer of buffers) await sums.take(buffer)
    },
  }
}

function idOrReason(engine: CudaEngine): Uint8Array | string {
  try {
    return engine.createNcclId()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A buffer whose sums are kept: its slices, by rank, and what a rank needs to add up its own. */
type Summed = {
  slices: (DeviceBuffer | undefined)[]
  /** Undefined for the last ranks of a small buffer, which has no slice for them. */
  own:
    | { received: DeviceBuffer; parts: DeviceBuffer[]; sums: DeviceBuffer; program: PreparedProgram }
    | undefined
}

/**
 * Sums of buffers: each rank receives its slice from all, adds them from rank 0 up to those of earlier
 * rounds, and in the end sends the sums to all.
 */
function createSums(engine: CudaEngine, exchange: CardExchange, { rank, ranks }: RankGroup) {
  const known = new Map<DeviceBuffer, Summed>()
  const programs = new Map<number, PreparedProgram>()
  const each = Array.from({ length: ranks }, (_, r) => r)
  const prepareFor = (count: number): PreparedProgram => {
    const program = programs.get(count) ?? addInOrder(engine, count, ranks)
    programs.set(count, program)
    return program
  }
  const summedOf = (buffer: DeviceBuffer): Summed => {
    const found = known.get(buffer)
    if (found) return found
    const count = buffer.byteLength / 4
    const slice = ALIGNED * Math.ceil(count / ranks / ALIGNED)
    const slices = each.map(r => {
      const [from, to] = [r, r + 1].map(i => Math.min(count, i * slice))
      return from === to ? undefined : engine.part(buffer, (from ?? 0) * 4, (to ?? 0) * 4)
    })
    const bytes = slices[rank]?.byteLength
    const made = { slices, own: bytes === undefined ? undefined : allocateFor(bytes) }
    known.set(buffer, made)
    return made
  }
  const allocateFor = (bytes: number): Summed['own'] => {
    const received = engine.allocate(bytes * ranks)
    return {
      received,
      parts: each.map(r => engine.part(received, r * bytes, (r + 1) * bytes)),
      sums: engine.allocate(bytes),
      program: prepareFor(bytes / 4),
    }
  }
  return {
    async add(buffer: DeviceBuffer, isFirst: boolean): Promise<void> {
      const { slices, own } = summedOf(buffer)
      await exchange.exchange(
        slices,
        each.map(r => own?.parts[r]),
      )
      if (!own) return
      if (isFirst) engine.clear(own.sums)
      await own.program.run({
        ...Object.fromEntries(own.parts.map((part, r) => [partOf(r), part])),
        [SUMS]: own.sums,
      })
    },
    async take(buffer: DeviceBuffer): Promise<void> {
      const { slices, own } = summedOf(buffer)
      await exchange.exchange(
        each.map(() => own?.sums),
        slices,
      )
    },
  }
}

const SUMS = 'sums'
const partOf = (rank: number) => `part:${rank}`

/** Adds the parts of all ranks to the sums, in place. */
function addInOrder(engine: Engine, count: number, ranks: number): PreparedProgram {
  const shape: Shape = [count]
  const g = createRecorder()
  let total = g.input(SUMS, 'f32', shape)
  for (let r = 0; r < ranks; r++) total = g.accumulate({ total, x: g.input(partOf(r), 'f32', shape) }, {}).y
  return prepare(engine, g.finish({}))
}
