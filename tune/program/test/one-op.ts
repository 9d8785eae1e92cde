/** Runs one op natively and by the oracle on the same numbers. */
import {
  byteLength,
  countElements,
  dequantize,
  inferOutputs,
  quantize,
  specOf,
  uniform,
  type Attrs,
  type Dtype,
  type OpName,
  type Shape,
} from '@cairn-tune/ops'
import type { CudaEngine, Engine } from '@cairn-tune/native'
import { flatten } from '../src/flatten.ts'
import { DEFINE } from '../src/oracle/define.ts'
import { planMemory } from '../src/plan.ts'
import { createRecorder } from '../src/record.ts'

export type Value = { dtype: Dtype; shape: Shape; bytes: Uint8Array; numbers: Float64Array }

/** A tensor of given numbers; `numbers` are what its dtype makes of them. */
export function tensor(dtype: Dtype, shape: Shape, values: ArrayLike<number>): Value {
  const bytes = quantize(Float32Array.from(values), dtype, shape)
  return { dtype, shape, bytes, numbers: Float64Array.from(dequantize(bytes, dtype, shape)) }
}

/** Numbers in [0, 1) by seed. Hundreds of cases begin with the same ones, and drawing them costs most. */
const drawn = new Map<number, Float64Array>()

export function draw(seed: number, count: number): Float64Array {
  const known = drawn.get(seed) ?? new Float64Array()
  if (known.length >= count) return known.subarray(0, count)
  const all = new Float64Array(count)
  all.set(known)
  for (let i = known.length; i < count; i++) all[i] = uniform({ seed, step: 0, op: 0 }, i)
  drawn.set(seed, all)
  return all
}

/** Even noise in [-size, size], the same for the same seed. */
export function noise(dtype: Dtype, shape: Shape, seed: number, size = 1): Value {
  return tensor(
    dtype,
    shape,
    draw(seed, countElements(shape)).map(value => size * (2 * value - 1)),
  )
}

export type Values = Readonly<Record<string, Value | undefined>>

export async function runNative(
  engine: Engine,
  op: OpName,
  inputs: Values,
  attrs: Attrs,
): Promise<Record<string, Value>> {
  const g = createRecorder()
  const given = Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, value && g.input(name, value.dtype, value.shape)]),
  )
  const outputs = g.step(op, given, attrs)
  const program = g.finish(outputs)
  const { inPlace = {} } = specOf(op)
  const buffers = new Map<string, Uint8Array>()
  const placements = new Map(
    program.tensors.map(one => {
      const name = one.name ?? `out.${Object.keys(outputs).find(key => outputs[key] === one)}`
      const binding = inPlace[name.replace('out.', '')] ?? name
      buffers.set(
        binding,
        buffers.get(binding) ??
          inputs[binding]?.bytes.slice() ??
          new Uint8Array(byteLength(one.dtype, one.shape)),
      )
      return [one, { binding }]
    }),
  )
  const flat = flatten(program, placements)
  const lent = new Map(flat.bindings.map(name => [name, engine.adopt(buffers.get(name) ?? new Uint8Array())]))
  await engine.run(engine.compile(flat), engine.allocate(0), [...lent.values()])
  const results: Record<string, Value> = {}
  for (const [name, one] of Object.entries(outputs)) {
    const buffer = lent.get(inPlace[name] ?? `out.${name}`)
    const bytes = buffer ? await engine.read(buffer) : new Uint8Array()
    const numbers = Float64Array.from(dequantize(bytes, one.dtype, one.shape))
    results[name] = { dtype: one.dtype, shape: one.shape, bytes, numbers }
  }
  return results
}

/** The kernels that an op launches on a card. Launches nothing. */
export function kernelsOf(engine: CudaEngine, op: OpName, inputs: Values, attrs: Attrs): string[] {
  const g = createRecorder()
  const given = Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, value && g.input(name, value.dtype, value.shape)]),
  )
  const program = g.finish(g.step(op, given, attrs))
  const launches = engine.launches(engine.compile(flatten(program, planMemory(program).placements)))
  return Object.keys(launches).filter(name => name !== 'clear' && name !== 'copy')
}

export function runOracle(op: OpName, inputs: Values, attrs: Attrs): Record<string, Float64Array> {
  inferOutputs(op, inputs, attrs)
  return DEFINE[op](
    Object.fromEntries(
      Object.entries(inputs).map(([name, value]) => [
        name,
        value && { shape: value.shape, values: value.numbers },
      ]),
    ),
    attrs,
  )
}

/**
 * How far a kernel's result may be from the oracle's, relative to the largest number of the output. f32
 * kernels sum up to a few thousand products; bf16 rounds results, and probabilities inside attention, to 8
 * bits.
 */
export const TOLERANCE: Partial<Record<Dtype, number>> = { f32: 4e-6, bf16: 2 ** -7 }

/** Largest difference, relative to the largest number there should be. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  let difference = 0
  let size = 1e-30
  for (let i = 0; i < expected.length; i++) {
    const gap = Math.abs((actual[i] ?? NaN) - (expected[i] ?? NaN))
    if (Number.isNaN(gap)) return NaN
    difference = Math.max(difference, gap)
    size = Math.max(size, Math.abs(expected[i] ?? 0))
  }
  return actual.length === expected.length ? difference / size : NaN
}
