/** Gated units joined with the products beside them, so that a card need not write what only they read. */
import { countReads, inputTensors, outputTensors, type Program, type Step, type Tensor } from './program.ts'

/** Joins the gradient of each unit with the product that makes the gradient of its result. No bit changes. */
export function fuseUnits(program: Program): Program {
  const reads = countReads(program)
  const products = new Map<Tensor, Step>()
  for (const step of program.steps)
    if (step.op === 'matmul_nn' && step.outputs['y'] && reads.get(step.outputs['y']) === 1)
      products.set(step.outputs['y'], step)
  const joined = new Set<Step>()
  const steps = program.steps.map((step): Step => {
    const { dy, gate, up } = step.inputs
    const product = step.op === 'swiglu_grad' && dy ? products.get(dy) : undefined
    if (!product || !gate || dy?.dtype !== gate.dtype || up?.dtype !== gate.dtype) return step
    joined.add(product)
    return {
      ...step,
      op: 'matmul_nn_swiglu_grad',
      inputs: { ...product.inputs, gate, up },
      attrs: product.attrs,
    }
  })
  return { ...program, steps: steps.filter(step => !joined.has(step)) }
}

const isPlain = ({ op, inputs, attrs }: Step) =>
  op === 'matmul_nt' &&
  attrs['alpha'] === 1 &&
  (attrs['arithmetic'] === 'f32' || attrs['arithmetic'] === 'bf16') &&
  !inputs['addend'] &&
  !inputs['bias']

/** A step with both products of a unit, at its place. */
function joined(unit: Step, gate: Step, up: Step): Step {
  const operands = (name: string, { inputs: { b, a2, b2 } }: Step) => ({
    [`${name}_b`]: b,
    [`${name}_a2`]: a2,
    [`${name}_b2`]: b2,
  })
  const { arithmetic = 'f32', dtype = 'f32' } = gate.attrs
  return {
    ...unit,
    op: 'matmul_nt_swiglu',
    inputs: { a: gate.inputs['a'], ...operands('gate', gate), ...operands('up', up) },
    attrs: { arithmetic, dtype },
    outputs: { ...named('gate', gate), ...named('up', up), ...unit.outputs },
  }
}
const named = (name: string, { outputs: { y } }: Step) => (y ? { [name]: y } : {})

/**
 * Joins units with both products before them, if these read the same rows and nothing reads their results
 * earlier. No bit changes. This follows recomputation, which may compute a unit again without its products.
 */
export function fuseUnitProducts(program: Program): Program {
  const producers = new Map<Tensor, Step>()
  const firstReaders = new Map<Tensor, Step>()
  for (const step of program.steps) {
    for (const tensor of outputTensors(step)) producers.set(tensor, step)
    for (const tensor of inputTensors(step)) if (!firstReaders.has(tensor)) firstReaders.set(tensor, step)
  }
  const replaced = new Set<Step>()
  const steps = program.steps.map((step): Step => {
    const { gate, up } = step.inputs
    if (step.op !== 'swiglu' || !gate || !up) return step
    const [gateStep, upStep] = [producers.get(gate), producers.get(up)]
    if (!gateStep || !upStep || gateStep === upStep) return step
    const fits =
      isPlain(gateStep) &&
      isPlain(upStep) &&
      gateStep.inputs['a'] === upStep.inputs['a'] &&
      gateStep.attrs['arithmetic'] === upStep.attrs['arithmetic'] &&
      gate.dtype === up.dtype &&
      firstReaders.get(gate) === step &&
      firstReaders.get(up) === step
    if (!fits) return step
    replaced.add(gateStep).add(upStep)
    return joined(step, gateStep, upStep)
  })
  return { ...program, steps: steps.filter(step => !replaced.has(step)) }
}
