/** A program in the flat form that native code reads; tune/native/src/engine.ts describes it. */
import { DTYPES, DTYPE_NAMES, LINEAR_ARITHMETICS, OP_NAMES, attrsOf, type Dtype } from '@cairn-tune/ops'
import { FLAT_VERSION, type FlatProgram } from '@cairn-tune/native'
import type { Program, Step, Tensor } from './program.ts'

/** Location of a tensor: a byte offset into the arena, or a buffer bound by name. */
export type Placement = { offset: number } | { binding: string }

/** Encodes a program for native code. Also returns the names of the buffers to bind, in order. */
export function flatten(
  program: Program,
  placements: ReadonlyMap<Tensor, Placement>,
): FlatProgram & { bindings: string[] } {
  const bindings: string[] = []
  const places = program.tensors.map(tensor => {
    const place = placements.get(tensor)
    // A tensor that no step uses needs no memory. Nothing reads it, so any offset will do.
    if (!place) return 0
    if ('offset' in place) return place.offset
    if (!bindings.includes(place.binding)) bindings.push(place.binding)
    return -1 - bindings.indexOf(place.binding)
  })
  const used = new Set(
    program.steps.flatMap(step => [...Object.values(step.inputs), ...Object.values(step.outputs)]),
  )
  const code = [FLAT_VERSION, program.tensors.length, program.steps.length]
  // Tensors that no step uses keep their number and have no elements.
  for (const tensor of program.tensors)
    code.push(
      ...(used.has(tensor) ? [DTYPES[tensor.dtype].code, tensor.shape.length, ...tensor.shape] : [0, 1, 0]),
    )
  for (const step of program.steps) {
    code.push(
      OP_NAMES.indexOf(step.op),
      ...Object.values(step.inputs).map(tensor => tensor?.id ?? -1),
      ...Object.values(step.outputs).map(tensor => tensor.id),
    )
  }
  return {
    code: Int32Array.from(code),
    attrs: Float64Array.from(program.steps.flatMap(attrNumbers)),
    places: Float64Array.from(places),
    bindings,
  }
}

function attrNumbers({ op, attrs }: Step): number[] {
  return attrsOf(op).map(({ name, kind }) => {
    const value = attrs[name]
    if (kind === 'dtype' || kind === 'storage')
      return DTYPES[DTYPE_NAMES.find(dtype => dtype === value) ?? ('f32' satisfies Dtype)].code
    if (kind === 'arithmetic' || kind === 'linear_arithmetic')
      return LINEAR_ARITHMETICS.findIndex(arithmetic => arithmetic === value)
    return Number(value)
  })
}
