/** Runs a program in float64, op by op, with the definitions in define.ts: the reference of every backend. */
import type { Program, Tensor } from '../program.ts'
import { DEFINE } from './define.ts'
import type { Matrix } from './matrix.ts'

/** Values of all tensors of a program, given those of its inputs by name. */
export function interpret(
  program: Program,
  inputs: Readonly<Record<string, ArrayLike<number>>>,
): Map<Tensor, Float64Array> {
  const values = new Map<Tensor, Float64Array>()
  const matrix = (tensor: Tensor | undefined): Matrix | undefined => {
    if (!tensor) return undefined
    const known = values.get(tensor)
    if (!known) throw new Error(`tensor ${tensor.name ?? tensor.id} is used before it has a value`)
    return { shape: tensor.shape, values: known }
  }
  for (const tensor of program.tensors.filter(one => one.isInput)) {
    const given = inputs[tensor.name ?? '']
    if (!given) throw new Error(`input ${tensor.name} has no value`)
    values.set(tensor, Float64Array.from(given))
  }
  for (const { op, inputs: given, attrs, outputs } of program.steps) {
    const results = DEFINE[op](
      Object.fromEntries(Object.entries(given).map(([name, tensor]) => [name, matrix(tensor)])),
      attrs,
    )
    for (const [name, tensor] of Object.entries(outputs))
      values.set(tensor, results[name] ?? new Float64Array())
  }
  return values
}
