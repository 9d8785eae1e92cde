/**
 * The adapter a run starts from: B is zero, so that the first step sees the base as it is; A is
 * Kaiming-uniform with a = √5, as PEFT draws it.
 */
import type { Shape } from '@cairn-tune/ops'
import { matricesOf, type AdapterTensor } from '@cairn-tune/weights'
import { createRandom } from './random.ts'

/** A uniform in ±1/√in: √(6 / ((1 + a²)·in)) with a² = 5. */
const boundOf = (inFeatures: number) => 1 / Math.sqrt(inFeatures)

type Matrix = { name: string; shape: readonly [number, number] }

/**
 * Writes the initial values of one matrix, by name and seed alone: another order or another set of modules
 * changes none of them.
 */
function fillAdapterMatrix(seed: number, { name, shape }: Matrix, values: Float32Array): void {
  values.fill(0)
  if (name.endsWith('.lora_B.weight')) return
  const random = createRandom(seed, ...new TextEncoder().encode(name))
  const bound = boundOf(shape[1])
  for (let i = 0; i < values.length; i++) values[i] = (2 * random.next() - 1) * bound
}

/** The same for a tensor of a program: one matrix, or one for each expert. */
export function fillAdapter(
  seed: number,
  tensor: { name: string; shape: Shape },
  values: Float32Array,
): void {
  const matrices = matricesOf(tensor)
  const size = values.length / matrices.length
  for (const [e, { name, shape }] of matrices.entries())
    fillAdapterMatrix(
      seed,
      { name, shape: [shape[0] ?? 0, shape[1] ?? 0] },
      values.subarray(e * size, (e + 1) * size),
    )
}

/** Initial values of an adapter's matrices. */
export function initAdapter(seed: number, matrices: readonly Matrix[]): AdapterTensor[] {
  return matrices.map(({ name, shape }) => {
    const values = new Float32Array(shape[0] * shape[1])
    fillAdapterMatrix(seed, { name, shape }, values)
    return { name, shape, values }
  })
}
