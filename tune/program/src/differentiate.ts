/** Reverse-mode differentiation: walks the recorded steps backwards and records the gradient ops of each. */
import { BACKWARD } from './backward.ts'
import { ONE, type GradientContext, type Gradient } from './gradient-context.ts'
import { inputTensors, outputTensors, type Step, type Tensor } from './program.ts'
import type { Recorder } from './record.ts'

/**
 * Records the gradients of `wrt`. `seeds` gives the gradient of some tensors of the program: a tensor, or ONE
 * for a loss. Only steps between `wrt` and the seeds are visited, so frozen weights cost nothing.
 */
export function differentiate(
  g: Recorder,
  seeds: ReadonlyMap<Tensor, Gradient>,
  wrt: readonly Tensor[],
): Map<Tensor, Tensor> {
  const forward = [...g.steps]
  const needed = reachedFrom(wrt, forward)
  const grads = new Map<Tensor, Gradient>(seeds)
  const sources = soleSources(forward, wrt)
  g.beginBackward()
  for (const step of forward.toReversed()) {
    if (
      !outputTensors(step).some(tensor => grads.has(tensor)) ||
      !inputTensors(step).some(tensor => needed.has(tensor))
    )
      continue
    const {
      parts = {},
      summed = {},
      others = [],
    } = BACKWARD[step.op](flowOf(g, step, grads, needed, sources))
    for (const [name, grad] of Object.entries(summed)) {
      const tensor = step.inputs[name]
      if (tensor && grad) grads.set(tensor, grad)
    }
    for (const [name, grad] of Object.entries(parts)) {
      const tensor = step.inputs[name]
      if (tensor && grad && needed.has(tensor)) grads.set(tensor, addUp(g, tensor, grads.get(tensor), grad))
    }
    for (const [tensor, grad] of others)
      if (needed.has(tensor)) grads.set(tensor, addUp(g, tensor, grads.get(tensor), grad()))
  }
  return new Map(
    wrt.map(tensor => {
      const grad = grads.get(tensor)
      if (!grad || grad === ONE)
        throw new Error(
          `${tensor.name ?? `tensor ${tensor.id}`} does not take part in the differentiated steps`,
        )
      return [tensor, grad]
    }),
  )
}

/** Tensors that depend on one of the given ones. */
function reachedFrom(from: readonly Tensor[], steps: readonly Step[]): Set<Tensor> {
  const reached = new Set(from)
  for (const step of steps) {
    if (inputTensors(step).some(tensor => reached.has(tensor)))
      for (const output of outputTensors(step)) reached.add(output)
  }
  return reached
}

/** The step behind each tensor that only one step reads, except tensors whose gradient is requested. */
function soleSources(steps: readonly Step[], wrt: readonly Tensor[]): Map<Tensor, Step> {
  const sources = new Map(steps.flatMap(step => outputTensors(step).map(tensor => [tensor, step] as const)))
  const readers = new Map<Tensor, Step>()
  for (const step of steps) {
    for (const tensor of inputTensors(step)) {
      if (readers.has(tensor)) sources.delete(tensor)
      readers.set(tensor, step)
    }
  }
  for (const tensor of wrt) sources.delete(tensor)
  return sources
}

function addUp(g: Recorder, tensor: Tensor, known: Gradient | undefined, more: Tensor): Tensor {
  if (known === ONE) throw new Error(`tensor ${tensor.id} is a loss and must not be used again`)
  if (known) return g.add({ a: known, b: more }, {}).y
  return more
}

function flowOf(
  g: Recorder,
  step: Step,
  grads: ReadonlyMap<Tensor, Gradient>,
  needed: ReadonlySet<Tensor>,
  sources: ReadonlyMap<Tensor, Step>,
): GradientContext {
  const fail = (what: string): never => {
    throw new Error(`[${step.op}] ${what}`)
  }
  const input = (name: string) => step.inputs[name] ?? fail(`${name} is missing`)
  const output = (name: string) => step.outputs[name] ?? fail(`has no output called ${name}`)
  const lossGrad = (name: string) =>
    grads.get(output(name)) ??
    fail(`the gradient of ${name} is unknown; the other outputs are not differentiable`)
  return {
    g,
    step,
    input,
    output,
    lossGrad,
    source(name) {
      const tensor = step.inputs[name]
      return tensor && !grads.has(tensor) ? sources.get(tensor) : undefined
    },
    grad(name) {
      const grad = lossGrad(name)
      return grad === ONE ? fail(`${name} is not a loss: its gradient must be a tensor`) : grad
    },
    isWanted(name) {
      const tensor = step.inputs[name]
      return tensor !== undefined && needed.has(tensor)
    },
    soFar(name) {
      const grad = grads.get(input(name))
      return grad === ONE ? fail(`${name} is a loss and must not be used again`) : grad
    },
  }
}
