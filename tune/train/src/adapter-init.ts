/** The adapter a run starts from: B is zero, so that the first step sees the base as it is; A is Kaiming-uniform with a = √5, as PEFT draws it. */
import type { AdapterTensor } from '@cairn-tune/weights'
import { createRandom } from './random.ts'

/** A uniform in ±1/√in: √(6 / ((1 + a²)·in)) with a² = 5. */
const boundOf = (inFeatures: number) => 1 / Math.sqrt(inFeatures)

/** Initial values of an adapter's matrices, by name and seed alone: another order or another set of modules changes none of them. */
export function initAdapter(seed: number, matrices: readonly { name: string; shape: readonly [number, number] }[]): AdapterTensor[] {
  return matrices.map(({ name, shape }) => {
    const values = new Float32Array(shape[0] * shape[1])
    if (name.endsWith('.lora_B.weight')) return { name, shape, values }
    const random = createRandom(seed, ...new TextEncoder().encode(name))
    const bound = boundOf(shape[1])
    return { name, shape, values: values.map(() => (2 * random.next() - 1) * bound) }
  })
}
