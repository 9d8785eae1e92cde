/**
 * Products with few columns, as adapters have, moved next to each other, so that a card computes several of
 * them in one launch. Only their order in the program changes.
 */
import { specOf } from '@cairn-tune/ops'
import { inputTensors, outputTensors, type Program, type Step, type Tensor } from './program.ts'

/** Columns of a product, or rows of its transpose, that a card computes in one tile. */
const MAX_COLUMNS = 64

/**
 * Moves products with few columns next to each other. Products x·Aᵀ move up to the first one that reads the
 * same x, and dy·B and dyᵀ·z up to the ones before them. Products dzᵀ·x move down to the last one that reads
 * the same x, because only then the dz of all are known.
 */
export function groupProducts(program: Program): Program {
  const steps = gather(program.steps, step => inputOfDown(step) ?? (isOfOutput(step) ? 'outputs' : undefined))
  return { ...program, steps: gather(steps.toReversed(), inputOfWeightGrad).toReversed() }
}

/** Moves each step up to the step before it of its group, unless a step between them forbids it. */
function gather(steps: readonly Step[], groupOf: (step: Step) => unknown): Step[] {
  const gathered: Step[] = []
  const newest = new Map<unknown, Step>()
  for (const step of steps) {
    const group = groupOf(step)
    const before = group === undefined ? undefined : newest.get(group)
    const at = before ? gathered.lastIndexOf(before) + 1 : gathered.length
    const moves = gathered.slice(at).every(other => canSwap(other, step))
    gathered.splice(moves ? at : gathered.length, 0, step)
    if (group !== undefined) newest.set(group, step)
  }
  return gathered
}

/** Whether two steps give the same results in either order. */
const canSwap = (one: Step, other: Step): boolean => !disturbs(one, other) && !disturbs(other, one)

/** Whether a step computes or overwrites what another one reads or overwrites. */
function disturbs(writer: Step, { inputs }: Step): boolean {
  const places = { ...specOf(writer.op).inPlace, ...writer.inPlace }
  const written = new Set([
    ...outputTensors(writer),
    ...Object.values(places).map(name => writer.inputs[name]),
  ])
  return Object.values(inputs).some(tensor => tensor !== undefined && written.has(tensor))
}

const columnsOf = (tensor: Tensor | undefined): number => tensor?.shape[1] ?? 0
const isBetween = (columns: number, others: number) => columns <= MAX_COLUMNS && columns <= others

/** The input x of a product x·Aᵀ with few columns. */
function inputOfDown(step: Step): Tensor | undefined {
  const { a, b } = step.inputs
  const isPlain = step.op === 'matmul_nt' && inputTensors(step).length === 2
  return isPlain && isBetween(b?.shape[0] ?? 0, Infinity) ? a : undefined
}

/** Whether a step computes dy·B or dyᵀ·z with few columns. */
function isOfOutput(step: Step): boolean {
  const { a, b } = step.inputs
  if (step.op === 'matmul_nn') return inputTensors(step).length === 2 && isBetween(columnsOf(b), Infinity)
  return step.op === 'matmul_tn' && isBetween(columnsOf(b), columnsOf(a))
}

/** The input x of a product dzᵀ·x with few rows. */
function inputOfWeightGrad(step: Step): Tensor | undefined {
  const { a, b } = step.inputs
  return step.op === 'matmul_tn' && !isOfOutput(step) && isBetween(columnsOf(a), columnsOf(b)) ? b : undefined
}
