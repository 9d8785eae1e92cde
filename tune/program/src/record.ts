/** Recording: calls of ops become steps, checked as they are recorded; nothing is computed. */
import {
  OP_NAMES,
  attrsOf,
  inferOutputs,
  inputsOf,
  type Attrs,
  type AttrsOf,
  type Dtype,
  type InputsOf,
  type OpName,
  type OutputsOf,
  type Shape,
} from '@cairn-tune/ops'
import type { Program, Step, Tensor } from './program.ts'

/** One method per op of the op table: named inputs, attributes, named outputs. */
export type Ops = {
  readonly [N in OpName]: (inputs: InputsOf<N, Tensor>, attrs: AttrsOf<N>) => OutputsOf<N, Tensor>
}

export type Recorder = Ops & {
  /** A tensor that the caller of a run provides. */
  input(name: string, dtype: Dtype, shape: Shape): Tensor
  /** Steps recorded inside belong to a block, which the plan may recompute instead of keeping its tensors. */
  block<T>(name: string, record: () => T): T
  /** Steps from here on belong to the backward phase: their inputs may be recomputed. */
  beginBackward(): void
  /** Records a step by name. The typed methods call it. */
  step(op: OpName, inputs: Readonly<Record<string, Tensor | undefined>>, attrs: Attrs): Record<string, Tensor>
  readonly steps: readonly Step[]
  /** Ends the recording. */
  finish(outputs: Record<string, Tensor>): Program
}

/** Starts a program. */
export function createRecorder(): Recorder {
  const tensors: Tensor[] = []
  const steps: Step[] = []
  const names = new Set<string>()
  let block: string | undefined
  let phase: Step['phase'] = 'forward'

  function addTensor(name: string | undefined, dtype: Dtype, shape: Shape, isInput: boolean): Tensor {
    const tensor = { id: tensors.length, name, dtype, shape, isInput }
    tensors.push(tensor)
    return tensor
  }

  function step(
    op: OpName,
    inputs: Readonly<Record<string, Tensor | undefined>>,
    attrs: Attrs,
  ): Record<string, Tensor> {
    for (const [key, tensor] of Object.entries(inputs)) {
      if (tensor && tensors[tensor.id] !== tensor)
        throw new Error(`[${op}] ${key} belongs to another program`)
    }
    const types = inferOutputs(op, inputs, attrs)
    const outputs = Object.fromEntries(
      Object.entries(types).map(([key, { dtype, shape }]) => [
        key,
        addTensor(undefined, dtype, shape, false),
      ]),
    )
    const given = Object.fromEntries(inputsOf(op).map(({ name }) => [name, inputs[name]]))
    const ordered = Object.fromEntries(attrsOf(op).map(({ name }) => [name, attrs[name] ?? 0]))
    steps.push({ op, inputs: given, attrs: ordered, outputs, block, phase })
    return outputs
  }

  const methods = Object.fromEntries(
    OP_NAMES.map(op => [
      op,
      (inputs: Record<string, Tensor | undefined>, attrs: Attrs) => step(op, inputs, attrs),
    ]),
  ) as unknown as Ops
  return {
    ...methods,
    steps,
    step,
    input(name, dtype, shape) {
      if (names.has(name)) throw new Error(`two inputs are named ${name}`)
      names.add(name)
      return addTensor(name, dtype, shape, true)
    },
    block(name, record) {
      if (block !== undefined) throw new Error(`block ${name} begins inside block ${block}`)
      block = name
      try {
        return record()
      } finally {
        block = undefined
      }
    },
    beginBackward() {
      phase = 'backward'
    },
    finish: outputs => ({ tensors: [...tensors], steps: [...steps], outputs }),
  }
}
