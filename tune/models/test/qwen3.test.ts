/** Our Qwen3 against transformers, with and without a PEFT adapter, on packed documents. */
import { afterAll, expect, test } from 'vitest'
import { dequantize, quantize, type Arithmetic, type Dtype } from '@cairn-tune/ops'
import { createEngine } from '@cairn-tune/native'
import {
  ONE,
  adoptAll,
  createRecorder,
  differentiate,
  outputBinding,
  planWithin,
  planMemory,
  prepare,
  type Program,
  type Tensor,
} from '@cairn-tune/program'
import { createLinear, packedPositions, recordModel, ropeInputs, ropeTables } from '@cairn-tune/models'
import { golden, readTensors } from './golden-file.ts'

const tensors = readTensors('qwen3.safetensors')
const cuSeqlens = golden.lengths.reduce((ends, length) => [...ends, (ends.at(-1) ?? 0) + length], [0])
const T = golden.ids.length
const maxLength = Math.max(...golden.lengths)

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

type Setup = { dtype: Arithmetic; hasLora: boolean; store?: (name: string) => Dtype }

/**
 * A training program of the golden model: loss, final hidden states and the gradient of everything trained.
 */
function record({ dtype, hasLora, store = () => dtype }: Setup): Program {
  const g = createRecorder()
  const known = new Map<string, Tensor>()
  const weights = (name: string, shape: readonly number[]) => {
    const tensor = known.get(name) ?? g.input(name, store(name), shape)
    known.set(name, tensor)
    return tensor
  }
  const { linear, adapters } = createLinear({ g, dtype, weights, ...(hasLora ? { lora: golden.lora } : {}) })
  const input = (name: string, length: number) => g.input(name, 'i32', [length])
  const batch = {
    ids: input('ids', T),
    positions: input('positions', T),
    cuSeqlens: input('cuSeqlens', cuSeqlens.length),
    targets: input('targets', T),
    ropes: ropeInputs(g, golden.config, maxLength),
  }
  const { loss, losses, hidden } = recordModel(
    { g, config: golden.config, dtype, weights, linear, trainsHead: !hasLora, logitRows: 512 },
    batch,
  )
  const trained = hasLora ? adapters : [...known.values()]
  const grads = differentiate(g, new Map([[loss, ONE]]), trained)
  return g.finish({
    loss,
    losses,
    hidden,
    ...Object.fromEntries([...grads].map(([tensor, grad]) => [`${tensor.name}.grad`, grad])),
  })
}

const data: Record<string, ArrayLike<number>> = {
  ids: golden.ids,
  targets: golden.targets,
  cuSeqlens,
  positions: packedPositions(cuSeqlens),
  ...ropeTables(golden.config, maxLength),
}

async function run(program: Program, plan = planMemory(program)): Promise<Map<string, Float32Array>> {
  const prepared = prepare(engine, program, plan)
  const buffers: Record<string, Uint8Array> = Object.fromEntries(
    prepared.bindings.map(name => [name, new Uint8Array(prepared.bytesOf(name))]),
  )
  for (const { name = '', dtype, shape } of program.tensors.filter(tensor => tensor.isInput)) {
    buffers[name] = quantize(Float32Array.from(data[name] ?? tensors.get(name) ?? []), dtype, shape)
  }
  await prepared.run(adoptAll(engine, buffers))
  return new Map(
    Object.entries(program.outputs).map(([name, { dtype, shape }]) => [
      name,
      dequantize(buffers[outputBinding(name)]!, dtype, shape),
    ]),
  )
}

const length = (values: Float32Array) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))

/** Euclidean length of the difference, relative to that of the expected value. */
function distance(actual: Float32Array, expected: Float32Array): number {
  if (actual.length !== expected.length) return NaN
  return length(actual.map((value, i) => value - expected[i]!)) / length(expected)
}

function compare(outputs: Map<string, Float32Array>, prefix: string, tolerance: number): number {
  const names = [...tensors.keys()]
    .filter(name => name.startsWith(prefix))
    .map(name => name.slice(prefix.length))
  for (const name of names)
    expect(distance(outputs.get(name) ?? new Float32Array(), tensors.get(prefix + name)!), name).toBeLessThan(
      tolerance,
    )
  return names.length
}

test('the program reads every weight and adapter of the golden file', () => {
  const inputs = [...record({ dtype: 'f32', hasLora: true }).tensors].flatMap(tensor =>
    tensor.isInput && !Object.hasOwn(data, tensor.name ?? '') ? [tensor.name] : [],
  )
  expect(inputs.toSorted()).toEqual(
    [...tensors.keys()].filter(name => !/^(bare|lora)\./.test(name)).toSorted(),
  )
})

test('with an adapter: hidden states, losses and gradients match transformers and PEFT', async () => {
  const outputs = await run(record({ dtype: 'f32', hasLora: true }))
  expect(compare(outputs, 'lora.', 1e-5)).toBe(2 * 7 * 2 + 2)
  expect(outputs.get('loss')![0]).toBeCloseTo(
    outputs.get('losses')!.reduce((a, b) => a + b, 0),
    3,
  )
})

test('trained in full: hidden states, losses and every gradient match transformers', async () => {
  const outputs = await run(record({ dtype: 'f32', hasLora: false }))
  expect(compare(outputs, 'bare.', 1e-5)).toBe(2 * 11 + 2 + 2)
})

test('in bf16 hidden states and gradients match within bf16 rounding', async () => {
  // Eight bits of mantissa, rounded some twenty times in the forward pass: 2^-9 · √20 for states, and several
  // times that after the backward pass.
  const outputs = await run(record({ dtype: 'bf16', hasLora: true }))
  expect(distance(outputs.get('hidden')!, tensors.get('lora.hidden')!)).toBeLessThan(0.03)
  compare(outputs, 'lora.', 0.08)
})

test('layers recomputed under a budget give the same bits', async () => {
  const program = record({ dtype: 'f32', hasLora: true })
  const free = planMemory(program).arenaBytes
  const verdict = planWithin(program, free * 0.8)
  if (!verdict.fits) throw new Error(`${verdict.minBytes} bytes would do, of ${free}`)
  const [plain, again] = [await run(program), await run(verdict.program, verdict.plan)]
  for (const [name, values] of plain) expect(again.get(name), name).toEqual(values)
})

test.each(['fp8_tiles', 'bf16'] as const)(
  'a frozen base stored as %s trains the adapter close to the f32 one',
  async stored => {
    const store = (name: string): Dtype => (name.includes('_proj.weight') ? stored : 'f32')
    const outputs = await run(record({ dtype: 'f32', hasLora: true, store }))
    // Weights keep 4 or 8 bits of mantissa: 2^-5 or 2^-9 of each, averaged over sums.
    expect(distance(outputs.get('hidden')!, tensors.get('lora.hidden')!)).toBeLessThan(
      stored === 'bf16' ? 0.01 : 0.12,
    )
  },
)
