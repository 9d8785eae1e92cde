/** Sums of gradients over several runs of a program: each gradient joins its sum as early as possible. */
import { specOf } from '@cairn-tune/ops'
import { countReads, outputTensors, type Program, type Step, type Tensor } from './program.ts'

/** Input of an op that is added to its result, and that the result may be written over. */
const addendOf = (step: Step): string | undefined =>
  Object.entries(specOf(step.op).overwrites ?? {}).find(([output]) => step.outputs[output])?.[1]

/**
 * Moves each `accumulate` into the op that computes its gradient, or right after that op, so that no two
 * gradients need memory at a time. An op adds to its f32 sums before it rounds, as `accumulate` adds to its
 * f32 result, so no bit changes.
 */
export function addIntoSums(program: Program): Program {
  const sums = new Map(
    program.steps.flatMap(step =>
      step.op === 'accumulate' && step.inputs['x'] ? [[step.inputs['x'], step] as const] : [],
    ),
  )
  const reads = countReads(program)
  const steps = program.steps
    .filter(step => step.op !== 'accumulate')
    .flatMap(step => {
      const sum = outputTensors(step).flatMap(output => sums.get(output) ?? [])
      const [only] = sum
      const whole = only && sum.length === 1 ? fused(step, only, reads) : undefined
      return whole ?? [step, ...sum]
    })
  return { ...program, steps }
}

/** The step with the sum as its addend, written over it. Undefined if something else needs the gradient. */
function fused(step: Step, sum: Step, reads: ReadonlyMap<Tensor, number>): Step | undefined {
  const addend = addendOf(step)
  const [total, y, [gradient]] = [sum.inputs['total'], sum.outputs['y'], outputTensors(step)]
  if (!addend || step.inputs[addend] || !total || !y || gradient?.dtype !== total.dtype) return undefined
  if (reads.get(gradient) !== 1) return undefined
  return {
    ...step,
    inputs: { ...step.inputs, [addend]: total },
    outputs: { y },
    inPlace: { y: addend },
  }
}
