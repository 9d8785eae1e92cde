/**
 * Recomputation: a block's tensors are dropped after the forward pass and computed again, by the same steps,
 * before the backward pass reads them. The steps and their order within the block are the same, so no bit
 * changes; the only cost is time.
 */
import type { OpName } from '@cairn-tune/ops'
import { fuseUnitProducts } from './fuse-units.ts'
import { inputTensors, outputTensors, type Program, type Step, type Tensor } from './program.ts'
import { planMemory, type Plan } from './plan.ts'

/** Ops that read much and output a few numbers. Never recomputed. */
const keptOps: readonly OpName[] = ['amax', 'delayed_amax', 'observe_amax', 'row_norms']

/** Ops that are cheap compared with the matmuls between them. Their outputs are dropped first. */
const cheapOps: readonly OpName[] = [
  'rms_norm',
  'qk_norm_rope',
  'swiglu',
  'geglu',
  'clamped_glu',
  'columns',
  'expert_rows',
  'combine',
  'dropout',
  'scale_columns',
  'add',
  'cast',
  'scale',
]

export type RecomputePolicy = {
  /** Blocks that recompute their cheap ops. */
  cheap: ReadonlySet<string>
  /** Blocks that recompute everything except what other blocks read. */
  whole: ReadonlySet<string>
}

/** The program with steps of its blocks repeated in the backward phase according to the policy. */
export function recompute(program: Program, policy: RecomputePolicy): Program {
  const producers = new Map<Tensor, Step>()
  for (const step of program.steps) for (const tensor of outputTensors(step)) producers.set(tensor, step)
  const kept = new Set([...readOutsideTheirBlock(program, producers), ...Object.values(program.outputs)])
  const tensors = [...program.tensors]
  const steps: Step[] = []
  const again = new Map<Tensor, Tensor>()

  const isDropped = (tensor: Tensor): boolean => {
    const step = producers.get(tensor)
    if (!step?.block || step.phase === 'backward' || kept.has(tensor) || keptOps.includes(step.op))
      return false
    return policy.whole.has(step.block) || (policy.cheap.has(step.block) && cheapOps.includes(step.op))
  }

  /**
   * The tensor to read in the backward phase: itself, or its recomputed copy, whose steps are added here on
   * first use.
   */
  function later(tensor: Tensor): Tensor {
    const step = producers.get(tensor)
    if (!step || !isDropped(tensor)) return tensor
    const made = again.get(tensor)
    if (made) return made
    const inputs = Object.fromEntries(
      Object.entries(step.inputs).map(([name, input]) => [name, input && later(input)]),
    )
    const outputs = Object.fromEntries(
      Object.entries(step.outputs).map(([name, output]) => {
        const copy = { ...output, id: tensors.length }
        tensors.push(copy)
        again.set(output, copy)
        return [name, copy]
      }),
    )
    steps.push({ ...step, inputs, outputs, phase: 'backward' })
    return again.get(tensor) ?? tensor
  }

  for (const step of program.steps) {
    if (step.phase === 'forward') steps.push(step)
    else {
      const inputs = Object.fromEntries(
        Object.entries(step.inputs).map(([name, tensor]) => [name, tensor && later(tensor)]),
      )
      steps.push({ ...step, inputs })
    }
  }
  return fuseUnitProducts({ tensors, steps, outputs: program.outputs })
}

/**
 * Tensors of a block that the forward pass reads in another. They stay live, and recomputation starts from
 * them.
 */
function readOutsideTheirBlock(program: Program, producers: ReadonlyMap<Tensor, Step>): Set<Tensor> {
  const forward = program.steps.filter(step => step.phase === 'forward')
  return new Set(
    forward.flatMap(step => inputTensors(step).filter(tensor => producers.get(tensor)?.block !== step.block)),
  )
}

export type FitResult =
  | { fits: true; program: Program; plan: Plan; policy: RecomputePolicy }
  /** Even full recomputation does not fit. `minBytes` is the size of the smallest arena. */
  | { fits: false; minBytes: number }

/**
 * Returns the plan with the least recomputation whose arena fits the budget. A run starts only after this
 * check.
 */
export function planWithin(program: Program, budgetBytes: number): FitResult {
  const blocks = [...new Set(program.steps.flatMap(({ block }) => block ?? []))]
  let minBytes = Infinity
  for (const policy of policies(blocks)) {
    const changed = recompute(program, policy)
    const plan = planMemory(changed)
    if (plan.arenaBytes <= budgetBytes) return { fits: true, program: changed, plan, policy }
    minBytes = Math.min(minBytes, plan.arenaBytes)
  }
  return { fits: false, minBytes }
}

/** From no recomputation, over cheap ops of ever more blocks, to whole blocks of ever more. */
function* policies(blocks: readonly string[]): Generator<RecomputePolicy> {
  const some = (count: number) => new Set(blocks.slice(0, count))
  for (let count = 0; count <= blocks.length; count++) yield { cheap: some(count), whole: new Set() }
  for (let count = 1; count <= blocks.length; count++)
    yield { cheap: some(blocks.length), whole: some(count) }
}
