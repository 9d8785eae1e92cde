/**
 * A program cut into stages that run one after the other, so that a caller can act between them: with weights
 * on a disk, every micro-batch of a window passes a layer before the next layer's weights are loaded. The
 * steps and their order do not change, so a program in stages gives the same bits as the whole.
 */
import { PART_ALIGNMENT, alignUp, byteLength, type Shape } from '@cairn-tune/ops'
import { outputBinding, assignOffsets, type Lifetime } from './plan.ts'
import { inputTensors, outputTensors, type Program, type Step, type Tensor } from './program.ts'

export type Stage = {
  /**
   * Its inputs are the whole program's inputs that it reads, and tensors carried from earlier stages. Its
   * outputs are the whole program's outputs that it computes, and tensors carried to later stages.
   */
  program: Program
  /** Names of the whole program's inputs that it reads. */
  reads: ReadonlySet<string>
  /** Location of a binding's buffer in the carried bytes. Other bindings are those of the whole program. */
  carried: ReadonlyMap<string, ByteRange>
}

/** Bytes [from, to). */
export type ByteRange = { from: number; to: number }

export type StagedProgram = {
  stages: Stage[]
  /** Bytes that stages pass to each other, for each concurrent run. */
  carriedBytes: number
}

/**
 * Cuts where steps change from one group of inputs to another. `groupOf` gives the group of an input by its
 * name; steps without a grouped input stay in the current stage.
 */
export function cutIntoStages(
  program: Program,
  groupOf: (input: string) => string | undefined,
): StagedProgram {
  const runs = splitSteps(program.steps, groupOf)
  const lives = carriedLives(runs)
  const placements: Parameters<typeof assignOffsets>[1] = new Map()
  const carriedBytes = assignOffsets([...lives.values()], placements)
  const spanOf = (tensor: Tensor): ByteRange | undefined => {
    const placed = placements.get(tensor)
    const bytes = byteLength(tensor.dtype, tensor.shape)
    return placed && 'offset' in placed ? { from: placed.offset, to: placed.offset + bytes } : undefined
  }
  for (const [name, tensor] of Object.entries(program.outputs))
    if (spanOf(tensor))
      throw new Error(`output ${name} is read by a later stage than the one that produces it`)
  return { stages: runs.map(steps => makeStage(program, steps, spanOf)), carriedBytes }
}

function splitSteps(steps: readonly Step[], groupOf: (input: string) => string | undefined): Step[][] {
  const runs: Step[][] = []
  let current: string | undefined
  for (const step of steps) {
    const names = inputTensors(step).filter(({ isInput }) => isInput)
    const group = names.flatMap(({ name = '' }) => groupOf(name) ?? [])[0]
    if (runs.length === 0 || (group !== undefined && current !== undefined && group !== current))
      runs.push([])
    current = group ?? current
    runs.at(-1)?.push(step)
  }
  return runs
}

/** Tensors read by a later stage than the one that computes them, with the stages in which they are live. */
function carriedLives(runs: readonly (readonly Step[])[]): Map<Tensor, Lifetime> {
  const made = new Map<Tensor, number>()
  const lives = new Map<Tensor, Lifetime>()
  for (const [i, steps] of runs.entries())
    for (const step of steps) {
      for (const tensor of outputTensors(step)) made.set(tensor, i)
      for (const tensor of inputTensors(step)) {
        const from = made.get(tensor)
        if (from === undefined || from === i) continue
        const bytes = alignUp(byteLength(tensor.dtype, tensor.shape), PART_ALIGNMENT)
        lives.set(tensor, { tensor, bytes, from, to: i })
      }
    }
  return lives
}

/** The stage of some steps of a program. `shapeOf` gives the shape that a tensor has in it. */
export function makeStage(
  { outputs }: Program,
  steps: readonly Step[],
  spanOf: (tensor: Tensor) => ByteRange | undefined,
  shapeOf: (tensor: Tensor) => Shape = ({ shape }) => shape,
): Stage {
  const tensors: Tensor[] = []
  const own = new Map<Tensor, Tensor>()
  const reads = new Set<string>()
  const carried = new Map<string, ByteRange>()
  const made: Record<string, Tensor> = {}
  const add = (tensor: Tensor, as: Pick<Tensor, 'name' | 'isInput'>): Tensor => {
    const copy = { ...tensor, ...as, shape: shapeOf(tensor), id: tensors.length }
    tensors.push(copy)
    own.set(tensor, copy)
    return copy
  }
  const read = (tensor: Tensor): Tensor => {
    const known = own.get(tensor)
    if (known) return known
    const span = spanOf(tensor)
    const name = span ? carriedName(tensor) : (tensor.name ?? '')
    if (span) carried.set(name, span)
    else reads.add(name)
    return add(tensor, { name, isInput: true })
  }
  const make = (tensor: Tensor): Tensor => {
    const copy = add(tensor, { name: tensor.name, isInput: false })
    const span = spanOf(tensor)
    if (span) {
      made[carriedName(tensor)] = copy
      carried.set(outputBinding(carriedName(tensor)), span)
    }
    return copy
  }
  const mapped = steps.map(step => ({
    ...step,
    inputs: Object.fromEntries(Object.entries(step.inputs).map(([key, one]) => [key, one && read(one)])),
    outputs: Object.fromEntries(Object.entries(step.outputs).map(([key, one]) => [key, make(one)])),
  }))
  for (const [name, tensor] of Object.entries(outputs)) {
    const copy = own.get(tensor)
    if (copy && !copy.isInput) made[name] = copy
  }
  return { program: { tensors, steps: mapped, outputs: made }, reads, carried }
}

/** Name of a tensor in the stages that it is carried to. */
export const carriedName = (tensor: Tensor) => `carried:${tensor.id}`
