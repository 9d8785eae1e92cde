/** Sums of buffers over ranks whose engines are cards: NCCL moves the bytes, a program adds them in order. */
import type { Shape } from '@cairn-tune/ops'
import type { CardExchange, CudaEngine, DeviceBuffer, Engine } from '@cairn-tune/native'
import { createRecorder, outputBinding, prepare, type PreparedProgram } from '@cairn-tune/program'
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
  const sum = createSums(engine, exchange, group)
  return {
    ...group,
    transport: `${group.transport}, NCCL`,
    async sumBuffers(_, buffers) {
      for (const buffer of buffers) await sum(buffer)
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

type Prepared = { received: DeviceBuffer; program: PreparedProgram }

/**
 * Replaces a buffer by its sums: each rank receives its slice from all, adds them from rank 0 up, and sends
 * the sums to all.
 */
function createSums(engine: CudaEngine, exchange: CardExchange, { rank, ranks }: RankGroup) {
  const prepared = new Map<number, Prepared>()
  const each = Array.from({ length: ranks }, (_, r) => r)
  const prepareFor = (count: number): Prepared => {
    const known = prepared.get(count)
    if (known) return known
    const made = { received: engine.allocate(count * ranks * 4), program: addInOrder(engine, count, ranks) }
    prepared.set(count, made)
    return made
  }
  return async (buffer: DeviceBuffer): Promise<void> => {
    const count = buffer.byteLength / 4
    const slice = ALIGNED * Math.ceil(count / ranks / ALIGNED)
    const slices = each.map(r => {
      const [from, to] = [r, r + 1].map(i => Math.min(count, i * slice))
      return from === to ? undefined : engine.part(buffer, (from ?? 0) * 4, (to ?? 0) * 4)
    })
    // A small buffer has no slice for the last ranks, which only send theirs.
    const own = slices[rank]
    const sums = own && prepareFor(own.byteLength / 4)
    const parts = each.map(
      r => sums && own && engine.part(sums.received, r * own.byteLength, (r + 1) * own.byteLength),
    )
    await exchange.exchange(slices, parts)
    if (sums && own)
      await sums.program.run({
        ...Object.fromEntries(parts.flatMap((part, r) => (part ? [[partOf(r), part]] : []))),
        [outputBinding('y')]: own,
      })
    const others = each.map(r => (r === rank ? undefined : slices[r]))
    await exchange.exchange(
      each.map(r => (r === rank ? undefined : own)),
      others,
    )
  }
}

const partOf = (rank: number) => `part:${rank}`

function addInOrder(engine: Engine, count: number, ranks: number): PreparedProgram {
  const shape: Shape = [count]
  const g = createRecorder()
  const parts = Array.from({ length: ranks }, (_, r) => g.input(partOf(r), 'f32', shape))
  return prepare(engine, g.finish({ y: parts.reduce((a, b) => g.add({ a, b }, {}).y) }))
}
