/**
 * Runs a program whose experts are divided among ranks. In a round every rank has a micro-batch, or none: it
 * runs its own stages for that one, and the stages of its experts for those of all ranks, in their order.
 */
import type { BoundRun, DeviceBuffer, Engine } from '@cairn-tune/native'
import {
  planMemory,
  prepare,
  type Buffers,
  type DividedProgram,
  type DividedStage,
  type Exchange,
  type Plan,
} from '@cairn-tune/program'
import type { RankGroup } from '../ranks/group.ts'

export type PlannedDivided = DividedProgram & { plans: Plan[]; arenaBytes: number }

export function planDivided(divided: DividedProgram): PlannedDivided {
  const plans = divided.stages.map(({ program }) => planMemory(program))
  return { ...divided, plans, arenaBytes: Math.max(...plans.map(plan => plan.arenaBytes)) }
}

/** Memory for tensors that stages pass to each other: for the own stages, and for each rank's experts. */
type CarriedBuffers = { own: DeviceBuffer; experts: readonly DeviceBuffer[] }

type DividedOptions = {
  engine: Engine
  divided: PlannedDivided
  /** Experts of a rank. */
  local: number
  group: RankGroup
  arena: DeviceBuffer
  carried: CarriedBuffers
  buffers: Buffers
  run: (bound: BoundRun) => Promise<void>
}

/** Runs a round. `present` says which ranks have a micro-batch in it. */
export type DividedRun = (present: readonly boolean[]) => Promise<void>

export function createDividedRun(options: DividedOptions): DividedRun {
  const { divided, group, carried, run } = options
  const stages = divided.stages.map((stage, i) => {
    const prepared = prepare(options.engine, stage.program, divided.plans[i], options.arena)
    const places = stage.side === 'own' ? [carried.own] : carried.experts
    return {
      stage,
      bound: places.map(place => prepared.bind(buffersOf(options, stage, place, prepared.bindings))),
    }
  })
  return async present => {
    const ends = new Map<string, Int32Array[]>()
    for (const { stage, bound } of stages) {
      const isRun = stage.side === 'own' ? [present[group.rank] === true] : present
      for (const [i, one] of bound.entries()) if (isRun[i]) await run(one)
      for (const exchange of stage.exchanges)
        if (exchange.ends === undefined)
          ends.set(exchange.name, await exchangeEnds(options, exchange, present[group.rank] === true))
        else await exchangeRows(options, exchange, ends.get(exchange.ends) ?? [])
    }
  }
}

function buffersOf(
  { engine, buffers }: DividedOptions,
  { carried: spans }: DividedStage,
  place: DeviceBuffer,
  names: readonly string[],
): Buffers {
  const found: Record<string, DeviceBuffer> = {}
  for (const name of names) {
    const span = spans.get(name)
    const buffer = span ? engine.part(place, span.from, span.to) : buffers[name]
    if (buffer) found[name] = buffer
  }
  return found
}

/** The rows of a rank's experts among those of a micro-batch. */
function rowsOf(ends: Int32Array | undefined, rank: number, local: number): { from: number; count: number } {
  const from = rank === 0 ? 0 : (ends?.[rank * local - 1] ?? 0)
  return { from, count: (ends?.[(rank + 1) * local - 1] ?? 0) - from }
}

/** Gathers the ends of all micro-batches, and gives each the ends of this rank's experts. */
async function exchangeEnds(
  { engine, local, group, carried }: DividedOptions,
  { own, experts }: Exchange,
  isPresent: boolean,
): Promise<Int32Array[]> {
  const { rank, ranks } = group
  const mine = isPresent
    ? (await engine.read(engine.part(carried.own, own.from, own.to))).slice()
    : new Uint8Array(own.to - own.from)
  const gathered = await group.gatherBytes(mine)
  const width = mine.byteLength
  const all = Array.from(
    { length: ranks },
    (_, q) => new Int32Array(gathered.slice(q * width, (q + 1) * width).buffer),
  )
  for (const [q, ends] of all.entries()) {
    const { from } = rowsOf(ends, rank, local)
    const place = carried.experts[q]
    if (place)
      engine.write(
        engine.part(place, experts.from, experts.from + local * 4),
        // The last expert also multiplies the rows of zeros that fill up those of a micro-batch.
        ends
          .subarray(rank * local, (rank + 1) * local)
          .map((end, e) => (e === local - 1 ? (ends.at(-1) ?? 0) : end - from)),
      )
  }
  return all
}

/** Sends rows to the ranks of their experts, or back to the rank of their micro-batch. */
async function exchangeRows(
  { engine, local, group, carried }: DividedOptions,
  { to, rowBytes, own, experts }: Exchange,
  ends: readonly Int32Array[],
): Promise<void> {
  const { rank, ranks } = group
  const each = Array.from({ length: ranks }, (_, r) => r)
  /** Rows of this rank's micro-batch at the experts of rank r, and of rank r's at the experts of this one. */
  const mine = each.map(r => rowsOf(ends[rank], r, local))
  const theirs = each.map(r => rowsOf(ends[r], rank, local))
  const most = Math.max(...each.flatMap(q => each.map(r => rowsOf(ends[q], r, local).count)))
  const partBytes = most * rowBytes
  const places = each.map(r => {
    const place = carried.experts[r]
    const [ownRows, count] = [mine[r] ?? { from: 0, count: 0 }, theirs[r]?.count ?? 0]
    const atOwn = own.from + ownRows.from * rowBytes
    return {
      own: engine.part(carried.own, atOwn, atOwn + ownRows.count * rowBytes),
      experts: place && engine.part(place, experts.from, experts.from + count * rowBytes),
    }
  })
  const [from, into] = to === 'experts' ? (['own', 'experts'] as const) : (['experts', 'own'] as const)
  const sent = new Uint8Array(partBytes * ranks)
  for (const [r, place] of places.entries()) {
    const rows = place[from]
    if (rows && rows.byteLength > 0) sent.set(await engine.read(rows), r * partBytes)
  }
  const received = await group.exchangeBytes(sent)
  for (const [r, place] of places.entries()) {
    const rows = place[into]
    const whole = carried.experts[r]
    if (to === 'experts' && rows && whole) engine.clear(whole, experts.from + rows.byteLength, experts.to)
    if (rows && rows.byteLength > 0)
      engine.write(rows, received.subarray(r * partBytes, r * partBytes + rows.byteLength))
  }
}
