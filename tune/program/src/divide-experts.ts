/**
 * A program whose experts are divided among ranks, cut into stages of two sides: those that a rank runs for
 * its own micro-batch, and those that it runs with its experts for the micro-batch of every rank. The steps
 * and their order are those of the whole program, and so are the bits: the rows of an expert are multiplied
 * together as on one rank, and the sums over the experts of a token stay with the token.
 */
import { PART_ALIGNMENT, alignUp, byteLength, type OpName, type Shape } from '@cairn-tune/ops'
import { assignOffsets, type Lifetime } from './plan.ts'
import { inputTensors, outputTensors, type Program, type Step, type Tensor } from './program.ts'
import { carriedName, makeStage, type ByteRange, type Stage } from './stages.ts'

export type Side = 'own' | 'experts'

/**
 * A tensor that passes from one side to the other after a stage: the ends of the rows of all experts, or rows
 * in the order of experts, with the name of the tensor of their ends.
 */
export type Exchange = {
  name: string
  ends: string | undefined
  to: Side
  rowBytes: number
  own: ByteRange
  experts: ByteRange
}

export type DividedStage = Stage & { side: Side; exchanges: Exchange[] }

export type DividedProgram = {
  stages: DividedStage[]
  /** Bytes that stages of a side pass to each other. Those of experts for the micro-batch of each rank. */
  carriedBytes: Record<Side, number>
}

type Experts = {
  /** Whether an input belongs to experts: a stack of matrices, one per expert. */
  isStack: (input: string) => boolean
  /** Experts of a rank. */
  local: number
}

/** Ops that read rows of experts to add up those of a token. */
const COMBINING: readonly OpName[] = ['combine', 'combine_grad']
/** Ops that compute a matrix or a vector per expert from rows. */
const STACKING: readonly OpName[] = ['expert_matmul_tn', 'expert_bias_grad']

type Run = { side: Side; steps: Step[] }

export function divideExperts(program: Program, { isStack, local }: Experts): DividedProgram {
  const { runs, endsOf, stacks } = splitSides(program.steps, isStack)
  const { lives, crossing } = livesOf(runs)
  const allEnds = new Set(endsOf.values())
  const isLocal = (tensor: Tensor) => stacks.has(tensor) || allEnds.has(tensor)
  const shapeOf = (tensor: Tensor): Shape =>
    isLocal(tensor) ? [local, ...tensor.shape.slice(1)] : tensor.shape
  const placements = { own: new Map(), experts: new Map() } as Record<
    Side,
    Parameters<typeof assignOffsets>[1]
  >
  const carriedBytes = {
    own: assignOffsets([...lives.own.values()], placements.own),
    experts: assignOffsets([...lives.experts.values()], placements.experts),
  }
  const spanOf =
    (side: Side) =>
    (tensor: Tensor): ByteRange | undefined => {
      const placed = placements[side].get(tensor)
      const bytes = byteLength(tensor.dtype, tensor.shape)
      return placed && 'offset' in placed ? { from: placed.offset, to: placed.offset + bytes } : undefined
    }
  const exchangeOf = (tensor: Tensor, side: Side): Exchange => {
    const [own, experts] = [spanOf('own')(tensor), spanOf('experts')(tensor)]
    const ends = endsOf.get(tensor)
    if (!own || !experts || (ends === undefined && !isLocal(tensor)))
      throw new Error(`[divideExperts] tensor ${tensor.id} is neither rows of experts nor their ends`)
    return {
      name: carriedName(tensor),
      ends: ends && carriedName(ends),
      to: side === 'own' ? 'experts' : 'own',
      rowBytes: byteLength(tensor.dtype, [1, ...tensor.shape.slice(1)]),
      own,
      experts,
    }
  }
  const stages = runs.map(({ side, steps }): DividedStage => {
    const exchanges = steps
      .flatMap(outputTensors)
      .filter(tensor => crossing.has(tensor))
      .map(tensor => exchangeOf(tensor, side))
    const stage = makeStage(program, steps, spanOf(side), side === 'experts' ? shapeOf : undefined)
    // Ends first: they say which rows to exchange.
    return { ...stage, side, exchanges: exchanges.toSorted((a, b) => Number(!!a.ends) - Number(!!b.ends)) }
  })
  return { stages, carriedBytes }
}

/** Runs of steps of one side, the ends of rows, and the tensors with a part per expert. */
function splitSides(steps: readonly Step[], isStack: (input: string) => boolean) {
  const runs: Run[] = []
  const made = new Set<Tensor>()
  const stacks = new Set<Tensor>()
  const endsOf = new Map<Tensor, Tensor>()
  for (const step of steps) {
    const inputs = inputTensors(step)
    for (const tensor of inputs) if (tensor.isInput && isStack(tensor.name ?? '')) stacks.add(tensor)
    const isExperts =
      !COMBINING.includes(step.op) && inputs.some(tensor => made.has(tensor) || stacks.has(tensor))
    const side = isExperts ? 'experts' : 'own'
    if (runs.at(-1)?.side !== side) runs.push({ side, steps: [] })
    runs.at(-1)?.steps.push(step)
    if (!isExperts) continue
    const ends = step.inputs['ends'] ?? inputs.flatMap(tensor => endsOf.get(tensor) ?? [])[0]
    const makesStacks =
      STACKING.includes(step.op) || (!step.inputs['ends'] && inputs.some(one => stacks.has(one)))
    for (const tensor of outputTensors(step)) {
      made.add(tensor)
      if (makesStacks) stacks.add(tensor)
    }
    if (!ends) continue
    const rows = [...inputs, ...outputTensors(step)].filter(one => one !== ends && !stacks.has(one))
    for (const tensor of rows) if (!tensor.isInput && !endsOf.has(tensor)) endsOf.set(tensor, ends)
  }
  return { runs, endsOf, stacks }
}

/** Where tensors of several stages live on each side, and those that pass from one side to the other. */
function livesOf(runs: readonly Run[]) {
  const made = new Map<Tensor, { stage: number; side: Side }>()
  const lives: Record<Side, Map<Tensor, Lifetime>> = { own: new Map(), experts: new Map() }
  const crossing = new Set<Tensor>()
  const extend = (side: Side, tensor: Tensor, from: number, to: number) => {
    const bytes = alignUp(byteLength(tensor.dtype, tensor.shape), PART_ALIGNMENT)
    const known = lives[side].get(tensor)
    lives[side].set(tensor, { tensor, bytes, from, to: Math.max(to, known?.to ?? to) })
  }
  for (const [i, { side, steps }] of runs.entries())
    for (const step of steps) {
      for (const tensor of outputTensors(step)) made.set(tensor, { stage: i, side })
      for (const tensor of inputTensors(step)) {
        const from = made.get(tensor)
        if (!from || from.stage === i) continue
        extend(side, tensor, from.stage, i)
        if (from.side === side) continue
        extend(from.side, tensor, from.stage, from.stage)
        crossing.add(tensor)
      }
    }
  return { lives, crossing }
}
