/** A whole recorded program: its gradients, its plan, its text, and the same bits in any memory layout. */
import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { dequantize, quantize } from '@cairn-tune/ops'
import { createEngine } from '@cairn-tune/native'
import {
  adoptAll,
  cutIntoStages,
  interpret,
  outputBinding,
  planMemory,
  planWithin,
  prepare,
  programText,
  recompute,
  type Plan,
  type Program,
} from '@cairn-tune/program'
import { relativeError } from './one-op.ts'
import { recordToy, toyInputs } from './toy.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

const { program, trained } = recordToy('f32')
const inputs = toyInputs(program)
const lossOf = (some: Program, values: Record<string, ArrayLike<number>>) =>
  interpret(some, values).get(some.outputs.loss!)![0]!

async function runNative(some: Program, plan?: Plan): Promise<Record<string, Uint8Array>> {
  const prepared = prepare(engine, some, plan)
  const types = new Map(some.tensors.map(tensor => [tensor.name, tensor]))
  const given = toyInputs(some)
  const buffers = Object.fromEntries(
    prepared.bindings.map(name => {
      const tensor = types.get(name)
      return [
        name,
        tensor
          ? quantize(Float32Array.from(given[name]!), tensor.dtype, tensor.shape)
          : new Uint8Array(prepared.bytesOf(name)),
      ]
    }),
  )
  await prepared.run(adoptAll(engine, buffers))
  return Object.fromEntries(Object.keys(some.outputs).map(name => [name, buffers[outputBinding(name)]!]))
}
const floats = (bytes: Uint8Array | undefined) => dequantize(bytes!, 'f32', [bytes!.byteLength / 4])

test('gradients of the recorded program match finite differences of its loss in float64', () => {
  const values = interpret(program, inputs)
  for (const tensor of trained) {
    const name = tensor.name!
    const grad = values.get(program.outputs[`d.${name}`]!)!
    // Two numbers of each tensor are enough to detect a wrong gradient flow.
    for (const i of [0, grad.length - 1]) {
      const shift = (by: number) => ({
        ...inputs,
        [name]: inputs[name]!.map((value, j) => (j === i ? value + by : value)),
      })
      const difference = (lossOf(program, shift(1e-5)) - lossOf(program, shift(-1e-5))) / 2e-5
      expect(grad[i], `${name}[${i}]`).toBeCloseTo(difference, 6)
    }
  }
})

test('a program cut into stages gives the same bits as the whole', async () => {
  // Only gradients that no step reads are outputs: a stage either outputs a tensor or carries it.
  const { loss, ...grads } = program.outputs
  const last = Object.keys(grads).filter(name =>
    program.steps.every(step => !Object.values(step.inputs).includes(grads[name])),
  )
  const some = {
    ...program,
    outputs: Object.fromEntries(['loss', ...last].map(n => [n, program.outputs[n]!])),
  }
  const { stages, carriedBytes } = cutIntoStages(some, name => /^(\d)\./.exec(name)?.[1])
  expect(loss).toBeDefined()
  // Block 0, block 1 with the head, and the backward pass.
  expect(stages.length).toBe(3)
  const carried = new Uint8Array(carriedBytes)
  const given = toyInputs(some)
  const found: Record<string, Uint8Array> = {}
  for (const { program: stage, carried: spans, reads } of stages) {
    const prepared = prepare(engine, stage)
    const buffers = Object.fromEntries(
      prepared.bindings.map(name => {
        const span = spans.get(name)
        if (span) return [name, carried.subarray(span.from, span.to)]
        const input = some.tensors.find(tensor => tensor.isInput && tensor.name === name)
        expect(reads.has(name)).toBe(input !== undefined)
        if (input) return [name, quantize(Float32Array.from(given[name]!), input.dtype, input.shape)]
        return [name, (found[name] = new Uint8Array(prepared.bytesOf(name)))]
      }),
    )
    await prepared.run(adoptAll(engine, buffers))
  }
  const whole = await runNative(some)
  for (const name of Object.keys(some.outputs)) expect(found[outputBinding(name)]).toEqual(whole[name])
})

test('native kernels match the loss and every gradient of the oracle', async () => {
  const outputs = await runNative(program)
  const values = interpret(program, inputs)
  for (const [name, tensor] of Object.entries(program.outputs))
    expect(relativeError(floats(outputs[name]), values.get(tensor)!), name).toBeLessThan(2e-5)
})

test('in bf16 the loss is within 1 % of the oracle', async () => {
  const toy = recordToy('bf16')
  const outputs = await runNative(toy.program)
  expect(Math.abs(floats(outputs.loss)[0]! / lossOf(program, inputs) - 1)).toBeLessThan(0.01)
})

test('tensors with overlapping lifetimes share no byte', () => {
  const { placements, arenaBytes } = planMemory(program)
  const lives = program.tensors.flatMap(tensor => {
    const place = placements.get(tensor)
    if (!place || !('offset' in place)) return []
    const uses = program.steps.flatMap((step, i) =>
      [...Object.values(step.inputs), ...Object.values(step.outputs)].includes(tensor) ? [i] : [],
    )
    const bytes = tensor.shape.reduce((a, b) => a * b, 4)
    return [{ start: place.offset, end: place.offset + bytes, from: uses[0]!, to: uses.at(-1)! }]
  })
  expect(lives.length).toBeGreaterThan(90)
  for (const [i, a] of lives.entries()) {
    expect(a.end).toBeLessThanOrEqual(arenaBytes)
    for (const b of lives.slice(i + 1))
      expect(a.to < b.from || b.to < a.from || a.end <= b.start || b.end <= a.start).toBe(true)
  }
})

test('the plan takes little more than half of the memory of all tensors', () => {
  const { arenaBytes } = planMemory(program)
  const total = program.tensors
    .filter(tensor => !tensor.isInput)
    .reduce((sum, tensor) => sum + tensor.shape.reduce((a, b) => a * b, 4), 0)
  expect(arenaBytes).toBeLessThan(total * 0.55)
})

test('recomputing cheap ops or whole blocks changes no bit', async () => {
  const plain = await runNative(program)
  const all = new Set(['block 0', 'block 1'])
  for (const policy of [
    { cheap: all, whole: new Set<string>() },
    { cheap: new Set<string>(), whole: all },
  ]) {
    const changed = recompute(program, policy)
    expect(changed.steps.length).toBeGreaterThan(program.steps.length)
    const outputs = await runNative(changed)
    for (const [name, bytes] of Object.entries(plain))
      expect(Buffer.compare(outputs[name]!, bytes), name).toBe(0)
  }
})

test('meets a budget with recomputation only if needed, and otherwise returns the minimum', () => {
  const free = planMemory(program).arenaBytes
  const easy = planWithin(program, free)
  expect(easy.fits && easy.policy.cheap.size + easy.policy.whole.size).toBe(0)
  const tight = planWithin(program, free - 1)
  if (!tight.fits) throw new Error('the toy must have something to drop')
  expect(tight.plan.arenaBytes).toBeLessThan(free)
  expect(tight.policy.cheap.size + tight.policy.whole.size).toBeGreaterThan(0)
  const none = planWithin(program, 100)
  if (none.fits) throw new Error('100 bytes are too few for anything')
  expect(none.minBytes).toBeLessThanOrEqual(tight.plan.arenaBytes)
  expect(planWithin(program, none.minBytes).fits).toBe(true)
})

test('the program text matches the golden file', () => {
  const file = new URL('golden/toy.txt', import.meta.url)
  expect(programText(program)).toBe(readFileSync(file, 'utf8'))
})
