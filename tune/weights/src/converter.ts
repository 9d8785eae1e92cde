/** Converts weights between dtypes with the engine's own kernels. */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { byteLength, type Dtype, type Shape } from '@cairn-tune/ops'
import { createRecorder, prepare, type PreparedProgram } from '@cairn-tune/program'

export type Convert = (
  bytes: Uint8Array,
  from: Dtype,
  to: Dtype,
  shape: Shape,
  target?: DeviceBuffer,
) => Promise<DeviceBuffer>

/** Casts and quantises with the engine; weights of one shape share a program. */
export function createConverter(engine: Engine): Convert {
  const programs = new Map<string, PreparedProgram>()
  function programFor(from: Dtype, to: Dtype, shape: Shape): PreparedProgram {
    const key = `${from} ${to} ${shape.join(' ')}`
    const known = programs.get(key)
    if (known) return known
    const g = createRecorder()
    const x = g.input('x', from, shape)
    const { y } =
      to === 'f32' || to === 'bf16' ? g.cast({ x }, { dtype: to }) : g.quantize({ x }, { dtype: to })
    const made = prepare(engine, g.finish({ y }))
    programs.set(key, made)
    return made
  }
  return async (bytes, from, to, shape, target) => {
    const y = target ?? engine.allocate(byteLength(to, shape))
    if (from === to) engine.write(y, bytes)
    else await programFor(from, to, shape).run({ x: engine.adopt(bytes), 'out:y': y })
    return y
  }
}
