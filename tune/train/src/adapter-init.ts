/**
 * Initial adapter of a run: B is zero, so that the first step computes the unmodified base; A is
 * Kaiming-uniform with a = √5, as in PEFT.
 */
import type { Shape } from '@cairn-tune/ops'
import { rankOf, scaleOf } from '@cairn-tune/models'
import {
  EMBEDDINGS,
  HEAD,
  InputError,
  decodeFloats,
  matricesOf,
  readAdapter,
  type Adapter,
  type AdapterTensor,
  type ExpertSlice,
  type FloatDtype,
} from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import type { Trained } from './record-step.ts'
import { createRandom } from './random.ts'
import { rowsName } from './trained-weights.ts'

/** Bound of a uniform distribution, 1/√in: √(6 / ((1 + a²)·in)) with a² = 5. */
const boundOf = (inFeatures: number) => 1 / Math.sqrt(inFeatures)

type Matrix = { name: string; shape: readonly [number, number] }

/**
 * Writes the initial values of one matrix. They depend only on name and seed, so another order or another set
 * of modules changes none of them.
 */
function fillAdapterMatrix(seed: number, { name, shape }: Matrix, values: Float32Array): void {
  values.fill(0)
  if (name.endsWith('.lora_B.weight')) return
  const random = createRandom(seed, ...new TextEncoder().encode(name))
  const bound = boundOf(shape[1])
  for (let i = 0; i < values.length; i++) values[i] = (2 * random.next() - 1) * bound
}

/** The same for a tensor of a program: one matrix, or one per expert. */
export function fillAdapter(
  seed: number,
  tensor: { name: string; shape: Shape; slice?: ExpertSlice | undefined },
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

const floatsOf = ({
  shape,
  dtype,
  bytes,
}: {
  shape: readonly number[]
  dtype: FloatDtype
  bytes: Uint8Array
}) => ({
  shape,
  values: decodeFloats(dtype, bytes),
})

/** The tensors of `init_adapter` by name. Throws unless they are those that the run trains. */
export async function readInitialAdapter(
  config: TrainConfig,
  trained: readonly Trained[],
): Promise<ReadonlyMap<string, Float32Array> | undefined> {
  const { init_adapter: path } = config
  if (path === undefined) return undefined
  const linears = trained.map(({ name }) => ({ name: name.replace(/\.lora_[AB]\.weight$/, '') }))
  const adapter = await readAdapter(path, linears)
  const refuse = (why: string): never => {
    throw new InputError(`init_adapter ${path}: ${why}`)
  }
  for (const key of ['use_rslora', 'use_dora'] as const)
    if ((adapter[key] ?? false) !== config[key]) refuse(`set ${key}: ${String(adapter[key])}`)
  checkScales(config, adapter, refuse)
  const given = new Map<string, { name: string; shape: readonly number[]; values: Float32Array }>(
    [...adapter.tensors, ...adapter.magnitudes].map(tensor => [tensor.name, tensor]),
  )
  for (const { weight, values, rows } of adapter.changes) {
    if (values) given.set(weight, { name: weight, ...floatsOf(values) })
    if (rows) given.set(rowsName(weight), { name: rowsName(weight), ...floatsOf(rows.values) })
  }
  // Both names of a tied matrix are in the file; the run has one.
  if (!trained.some(({ name }) => name === HEAD) && given.has(EMBEDDINGS)) given.delete(HEAD)
  const valuesOf = (tensor: Trained): Float32Array => {
    const parts = matricesOf(tensor).map(({ name, shape }) => {
      const found = given.get(name)
      given.delete(name)
      if (!found)
        return refuse(
          `has no ${name}; it adapts ${adapter.lora_target_modules.join(',')} (lora_target_modules)`,
        )
      if (found.shape.some((size, i) => size !== shape[i]))
        return refuse(`${name} is (${found.shape.join(', ')}), but the run needs (${shape.join(', ')})`)
      return found.values
    })
    const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      all.set(part, at)
      at += part.length
    }
    return all
  }
  const values = new Map(trained.map(tensor => [tensor.name, valuesOf(tensor)]))
  const [stranger] = given.keys()
  if (stranger !== undefined) refuse(`has ${stranger}, which the run does not train; see lora_target_modules`)
  return values
}

/** Rejects an adapter whose matrices would be scaled differently in the run. */
function checkScales(config: TrainConfig, adapter: Adapter, refuse: (why: string) => never): void {
  const { lora_rank: rank, lora_alpha: alpha } = adapter
  const isPlain = [config.lora_expert_rank, config.rank_pattern, config.alpha_pattern].every(
    key => key === undefined,
  )
  for (const { name, shape } of adapter.tensors) {
    if (!name.endsWith('.lora_A.weight')) continue
    const linear = name.slice(0, -'.lora_A.weight'.length)
    const [theirs, ours] = [adapter.scaleOf(linear), scaleOf(config, linear)]
    if (shape[0] === rankOf(config, linear) && Math.abs(theirs / ours - 1) < 1e-9) continue
    refuse(
      isPlain && shape[0] === rank
        ? `has rank ${rank} and alpha ${alpha}, but the run has ${config.lora_rank} and ` +
            `${config.lora_alpha}; set lora_rank: ${rank} and lora_alpha: ${alpha}`
        : `${linear} has rank ${shape[0]} and scale ${theirs}, but the run has ` +
            `${rankOf(config, linear)} and ${ours}; see rank_pattern and alpha_pattern`,
    )
  }
}
