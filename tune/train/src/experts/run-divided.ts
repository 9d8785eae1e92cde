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
import { endsOfRank, rowsOfRank } from './rows-of-rank.ts'

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
    const place = carried.experts[q]
    if (place) engine.write(place, endsOfRank(ends, rank, local), experts.from)
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
  /** Bytes of the rows of rank q's micro-batch that belong to rank r. */
  const bytesOf = (q: number, r: number) => rowsOfRank(ends[q], r, local).count * rowBytes
  const places = carried.experts.map((place, r) => {
    const atOwn = own.from + rowsOfRank(ends[rank], r, local).from * rowBytes
    return {
      own: engine.part(carried.own, atOwn, atOwn + bytesOf(rank, r)),
      experts: engine.part(place, experts.from, experts.from + bytesOf(r, rank)),
    }
  })
  const each = Array.from({ length: ranks }, (_, r) => r)
  const largest = Math.max(...each.flatMap(q => each.map(r => bytesOf(q, r))))
  const [atOwn, atExperts] = [places.map(place => place.own), places.map(place => place.experts)]
  const [sent, received] = to === 'experts' ? [atOwn, atExperts] : [atExperts, atOwn]
  await group.exchange(engine, sent, received, largest)
}
