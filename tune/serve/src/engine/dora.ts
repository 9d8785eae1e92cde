/** DoRA's factors of a linear's columns, computed when the adapter is loaded. */
import { MAGNITUDE } from '@cairn-tune/models'
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { floatsOf, type Dtype } from '@cairn-tune/ops'
import { createRecorder, outputBinding, prepare } from '@cairn-tune/program'
import { InputError, decodeFloats, type StoredAdapter } from '@cairn-tune/weights'
import type { AdapterTarget } from './adapters.ts'

/** The row lengths that an adapter sets, divided by the row lengths of W + scale·B·A. */
export function createDora(
  engine: Engine,
  weights: ReadonlyMap<string, DeviceBuffer>,
  storage: (name: string) => Dtype,
): (target: AdapterTarget, adapter: StoredAdapter) => Promise<Float32Array> {
  return async ({ name, inputs, outputs }, { tensors, magnitudes, scaleOf }) => {
    const magnitude = magnitudes.find(one => one.name === `${name}${MAGNITUDE}`)
    const weight = weights.get(`${name}.weight`)
    const [a, b] = (['A', 'B'] as const).map(side => {
      const found = tensors.find(tensor => tensor.name === `${name}.lora_${side}.weight`)
      return found && decodeFloats(found.dtype, found.bytes)
    })
    if (!magnitude || !weight || !a || !b) return new Float32Array(outputs).fill(1)
    const g = createRecorder()
    const rank = a.length / inputs
    const given = {
      weight: g.input('weight', storage(`${name}.weight`), [outputs, inputs]),
      a: g.input('a', 'f32', [rank, inputs]),
      b: g.input('b', 'f32', [outputs, rank]),
    }
    const { y } = g.row_norms(given, { alpha: scaleOf(name) })
    const norms = engine.allocate(outputs * 4)
    await prepare(engine, g.finish({ y })).run({
      weight,
      a: engine.adopt(a),
      b: engine.adopt(b),
      [outputBinding('y')]: norms,
    })
    const lengths = floatsOf(await engine.read(norms))
    const factors = magnitude.values.map((value, n) => value / (lengths[n] ?? NaN))
    const bad = factors.findIndex((factor, n) => !Number.isFinite(factor) || !Number.isFinite(lengths[n]))
    if (bad >= 0)
      throw new InputError(
        `${magnitude.name}: row ${bad} of the adapted weight has norm ${lengths[bad]} and magnitude ` +
          `${magnitude.values[bad]}; both and their quotient must be finite`,
      )
    return factors
  }
}
