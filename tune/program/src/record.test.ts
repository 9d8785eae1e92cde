import { expect, test } from 'vitest'
import { ONE } from './gradient-context.ts'
import { differentiate } from './differentiate.ts'
import { planMemory } from './plan.ts'
import { createRecorder } from './record.ts'

test('rejects a step with wrong shapes when it is recorded', () => {
  const g = createRecorder()
  const x = g.input('x', 'f32', [7, 1024])
  expect(() => g.rms_norm({ x, weight: g.input('w', 'f32', [512]) }, { eps: 1e-6 })).toThrow(
    '[rms_norm] weight must be (C)=(1024), got (512)',
  )
})

test('rejects tensors of another program, duplicate input names and nested blocks', () => {
  const [g, other] = [createRecorder(), createRecorder()]
  const x = g.input('x', 'f32', [2])
  expect(() => other.add({ a: x, b: x }, {})).toThrow('[add] a belongs to another program')
  expect(() => g.input('x', 'f32', [2])).toThrow('two inputs are named x')
  expect(() => g.block('a', () => g.block('b', () => undefined))).toThrow('block b begins inside block a')
})

test('a gradient summed over two uses is recorded as one sum', () => {
  const g = createRecorder()
  const x = g.input('x', 'f32', [3, 4])
  const dy = g.input('dy', 'f32', [3, 4])
  const twice = g.add({ a: x, b: x }, {}).y
  differentiate(g, new Map([[twice, dy]]), [x])
  expect(g.steps.map(step => step.op)).toEqual(['add', 'add'])
})

test('skips a branch without trained inputs', () => {
  const g = createRecorder()
  const [x, trained, dy] = [
    g.input('x', 'f32', [2, 3]),
    g.input('trained', 'f32', [2, 3]),
    g.input('dy', 'f32', [2, 3]),
  ]
  const frozen = g.swiglu({ gate: x, up: x }, {}).y
  const { y } = g.add({ a: frozen, b: trained }, {})
  expect(differentiate(g, new Map([[y, dy]]), [trained]).get(trained)).toBe(dy)
  expect(g.steps.map(step => step.op)).toEqual(['swiglu', 'add'])
})

test('differentiation rejects an op without a gradient and an unused input by name', () => {
  const g = createRecorder()
  const x = g.input('x', 'f32', [4])
  const { y } = g.sum_squares({ x }, {})
  expect(() => differentiate(g, new Map([[y, ONE]]), [x])).toThrow('[sum_squares] has no gradient')
  const alone = g.input('alone', 'f32', [4])
  expect(() => differentiate(g, new Map(), [alone])).toThrow(
    'alone does not take part in the differentiated steps',
  )
})

test('a weight stored in blocks propagates gradients but gets none itself', () => {
  const matmul = { alpha: 1, arithmetic: 'f32', dtype: 'f32' } as const
  const g = createRecorder()
  const [x, w, dy] = [
    g.input('x', 'f32', [3, 64]),
    g.input('w', 'nf4', [5, 64]),
    g.input('dy', 'f32', [3, 5]),
  ]
  const { y } = g.matmul_nt({ a: x, b: w }, matmul)
  differentiate(g, new Map([[y, dy]]), [x])
  expect(g.steps.map(step => step.op)).toEqual(['matmul_nt', 'matmul_nn'])
  expect(() => differentiate(g, new Map([[y, dy]]), [w])).toThrow(
    '[matmul_nt] b is stored as nf4, which cannot be trained',
  )
})

test("the adapter's gradient of the input is fused into that of its linear", () => {
  const matmul = { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' } as const
  const g = createRecorder()
  const [x, w, dy] = [
    g.input('x', 'bf16', [3, 64]),
    g.input('w', 'nf4', [5, 64]),
    g.input('dy', 'bf16', [3, 5]),
  ]
  const [A, B] = [g.input('A', 'f32', [2, 64]), g.input('B', 'f32', [5, 2])]
  const z = g.matmul_nt({ a: x, b: A }, { ...matmul, alpha: 4 }).y
  const { y } = g.matmul_nt({ a: x, b: w, a2: z, b2: B }, matmul)
  const grads = differentiate(g, new Map([[y, dy]]), [x, A, B])
  const [dz, dx, dB, dA] = g.steps.slice(2)
  expect(dz).toMatchObject({ op: 'matmul_nn', inputs: { a: dy, b: B }, attrs: { alpha: 4 } })
  expect(dx).toMatchObject({ op: 'matmul_nn', inputs: { a: dy, b: w, a2: dz?.outputs.y, b2: A } })
  expect(dB).toMatchObject({ op: 'matmul_tn', inputs: { a: dy, b: z }, attrs: { alpha: 1 } })
  expect(dA).toMatchObject({ op: 'matmul_tn', inputs: { a: dz?.outputs.y, b: x }, attrs: { alpha: 1 } })
  expect([x, A, B].map(tensor => grads.get(tensor))).toEqual([dx, dA, dB].map(step => step?.outputs.y))
  expect(g.steps).toHaveLength(6)
})

test("an in-place op keeps its input's memory, and reading that input afterwards is rejected", () => {
  const g = createRecorder()
  const [total, x] = [g.input('total', 'f32', [4]), g.input('x', 'f32', [4])]
  const { y } = g.accumulate({ total, x }, {})
  expect(planMemory(g.finish({ y })).placements.get(y)).toEqual({ binding: 'total' })
  g.add({ a: total, b: x }, {})
  expect(() => planMemory(g.finish({ y }))).toThrow('[add] reads a tensor that accumulate has overwritten')
})
