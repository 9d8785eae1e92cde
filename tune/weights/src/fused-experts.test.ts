import { expect, test } from 'vitest'
import { EXPERT_NAMES, MIXTRAL_EXPERT_NAMES, type ExpertNames } from './experts.ts'
import { fuseStacks, fusedParameter, parameterOf, partFused, type AdapterStack } from './fused-experts.ts'
import type { AdapterTensor, StoredTensor } from './adapter-tensor.ts'

const [E, R, IN, F] = [3, 2, 5, 4]
const stem = 'model.layers.1.mlp.experts'
const stack = (name: string, rows: number, columns: number, from: number): AdapterStack => ({
  name: `${stem}.${name}.weight`,
  shape: [E, rows, columns],
  values: Float32Array.from({ length: E * rows * columns }, (_, i) => from + i),
})
const separate = [
  stack('gate_proj.lora_A', R, IN, 1),
  stack('gate_proj.lora_B', F, R, 101),
  stack('up_proj.lora_A', R, IN, 201),
  stack('up_proj.lora_B', F, R, 301),
  stack('down_proj.lora_A', R, F, 401),
  stack('down_proj.lora_B', IN, R, 501),
]
const stored = ({ values, ...tensor }: AdapterTensor): StoredTensor => ({
  ...tensor,
  dtype: 'F32',
  bytes: new Uint8Array(values.buffer),
})
const valuesOf = ({ bytes }: StoredTensor) => [
  ...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4),
]
const pick = (tensors: readonly AdapterTensor[], name: string) => {
  const found = tensors.find(tensor => tensor.name === name)
  if (!found) throw new Error(`no ${name}`)
  return found
}
const part = (
  tensors: readonly AdapterTensor[],
  module: string,
  parameter: string,
  names: ExpertNames | undefined,
) => {
  const [a, b] = ['A', 'B'].map(side => stored(pick(tensors, `${module}.lora_${side}.weight`))) as [
    StoredTensor,
    StoredTensor,
  ]
  return [...partFused({ parameter, rank: a.shape[0] / E, a, b }, names)].flat()
}

test('row e·R + j of A and column j·E + e of B belong to expert e; gates and ups are separate blocks', () => {
  const fused = fuseStacks(separate)
  expect(fused.map(({ name, shape }) => [name, shape])).toEqual([
    [`${stem}.base_layer.lora_A.weight`, [E * 2 * R, IN]],
    [`${stem}.base_layer.lora_B.weight`, [2 * F, 2 * R * E]],
    [`${stem}.lora_A.weight`, [E * R, F]],
    [`${stem}.lora_B.weight`, [IN, R * E]],
  ])
  const [a, b] = ['A', 'B'].map(side => pick(fused, `${stem}.base_layer.lora_${side}.weight`).values) as [
    Float32Array,
    Float32Array,
  ]
  // The second row of expert 2's up_proj, whose rows come after those of its gate_proj.
  expect(a[(2 * 2 * R + R + 1) * IN + 3]).toBe(201 + (2 * R + 1) * IN + 3)
  expect(b[(F + 1) * 2 * R * E + (R + 1) * E + 2]).toBe(301 + (2 * F + 1) * R + 1)
  expect(b[(F + 1) * 2 * R * E + 1 * E + 2]).toBe(0)
})

test('splitting a fused adapter gives the same adapters with the same ranks', () => {
  const fused = fuseStacks(separate)
  const parted = [
    ...part(fused, `${stem}.base_layer`, `${stem}.gate_up_proj`, EXPERT_NAMES),
    ...part(fused, stem, `${stem}.down_proj`, EXPERT_NAMES),
  ]
  expect(parted).toHaveLength(E * 6)
  for (const { name, shape, values } of separate)
    for (let e = 0; e < E; e++) {
      const found = parted.find(one => one.name === name.replace('.experts.', `.experts.${e}.`))
      expect(found?.shape).toEqual(shape.slice(1))
      const size = values.length / E
      expect(found && valuesOf(found)).toEqual([...values.subarray(e * size, (e + 1) * size)])
    }
})

test('gate and up share A and its whole rank if B is not two blocks', () => {
  const shared = [stack('gate_up_proj.lora_A', R, IN, 1), stack('gate_up_proj.lora_B', 2 * F, R, 101)]
  const fused = fuseStacks(shared)
  expect(fused.map(({ name }) => name)).toEqual([`${stem}.lora_A.weight`, `${stem}.lora_B.weight`])
  const parted = part(fused, stem, `${stem}.gate_up_proj`, EXPERT_NAMES)
  const named = (name: string) => parted.find(one => one.name === `${stem}.1.${name}.weight`)
  expect(named('gate_proj.lora_A')?.bytes).toEqual(named('up_proj.lora_A')?.bytes)
  expect(named('up_proj.lora_B')?.shape).toEqual([F, R])
  expect(valuesOf(named('up_proj.lora_B') as StoredTensor)[0]).toBe(101 + (2 * F + F) * R)
  // A model with gates and ups in one matrix has one adapter for them.
  const whole = part(fused, stem, `${stem}.gate_up_proj`, undefined)
  expect(whole.map(({ name }) => name).slice(0, 2)).toEqual(
    ['A', 'B'].map(side => `${stem}.0.gate_up_proj.lora_${side}.weight`),
  )
  expect(whole[1]?.shape).toEqual([2 * F, R])
})

test("Mixtral's experts have transformers' names in the fused form, and their own names when split", () => {
  const renamed = (name: string) =>
    name
      .replace('.mlp.', '.block_sparse_moe.')
      .replace('gate_proj', 'w1')
      .replace('up_proj', 'w3')
      .replace('down_proj', 'w2')
  const own = separate.map(one => ({ ...one, name: renamed(one.name) }))
  const fused = fuseStacks(own)
  expect(fused).toEqual(fuseStacks(separate))
  const parted = [
    ...part(fused, `${stem}.base_layer`, `${stem}.gate_up_proj`, MIXTRAL_EXPERT_NAMES),
    ...part(fused, stem, `${stem}.down_proj`, MIXTRAL_EXPERT_NAMES),
  ]
  expect(parted.map(({ name }) => name).toSorted()).toEqual(
    own.flatMap(({ name }) => [0, 1, 2].map(e => name.replace('.experts.', `.experts.${e}.`))).toSorted(),
  )
  expect(parameterOf('model.layers.1.block_sparse_moe.experts.3.w3')).toBe(`${stem}.gate_up_proj`)
  expect(parameterOf('model.layers.1.block_sparse_moe.experts.3.w2')).toBe(`${stem}.down_proj`)
})

test('finds the parameter that PEFT wraps, and rejects a pair without one', () => {
  const both = ['mlp.experts.gate_up_proj', 'mlp.experts.down_proj']
  const at = (linear: string, parameters: string[]) => fusedParameter('f', linear, parameters)
  expect(at(`${stem}.base_layer`, both)).toBe(`${stem}.gate_up_proj`)
  expect(at(stem, both.toReversed())).toBe(`${stem}.down_proj`)
  expect(at(stem, both.slice(0, 1))).toBe(`${stem}.gate_up_proj`)
  expect(at(`${stem}.3.up_proj`, both)).toBeUndefined()
  expect(parameterOf(`${stem}.3.up_proj`)).toBe(`${stem}.gate_up_proj`)
  expect(() => at(stem, [])).toThrow('target_parameters (none) does not name the parameters')
  expect(() => at(`${stem}.base_layer`, ['down_proj'])).toThrow('does not name the parameters')
})
