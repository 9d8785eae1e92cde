import { expect, test } from 'vitest'
import { addIntoSums } from './add-into-sums.ts'
import { groupProducts } from './group-products.ts'
import type { Program, Tensor } from './program.ts'
import { createRecorder, type Recorder } from './record.ts'

const attrs = { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' } as const
const T = 96

/** The output of each step by the name that its test gave it, in order. */
function orderOf(program: Program, names: ReadonlyMap<Tensor, string>): string[] {
  return program.steps.flatMap(step => Object.values(step.outputs).flatMap(one => names.get(one) ?? []))
}

function record(body: (g: Recorder, name: (as: string, tensor: Tensor) => Tensor) => void) {
  const g = createRecorder()
  const names = new Map<Tensor, string>()
  body(g, (as, tensor) => {
    names.set(tensor, as)
    return tensor
  })
  return { g, names }
}

/** Linears with adapters of one input: forward, then backward in the opposite order. */
function recordLinears(rank: number) {
  return record((g, name) => {
    const x = g.input('x', 'bf16', [T, 128])
    const linears = ['q', 'k'].map(of => {
      const A = g.input(`A ${of}`, 'bf16', [rank, 128])
      const B = g.input(`B ${of}`, 'bf16', [256, rank])
      const W = g.input(`W ${of}`, 'bf16', [256, 128])
      const z = name(`z ${of}`, g.matmul_nt({ a: x, b: A }, attrs).y)
      name(of, g.matmul_nt({ a: x, b: W, a2: z, b2: B }, attrs).y)
      return { of, A, B, W, z, dy: g.input(`dy ${of}`, 'bf16', [T, 256]) }
    })
    const sum = { ...attrs, dtype: 'f32' } as const
    let addend: Tensor | undefined
    for (const { of, A, B, W, z, dy } of linears.toReversed()) {
      const dz = name(`dz ${of}`, g.matmul_nn({ a: dy, b: B }, { ...attrs, stream: 0 }).y)
      addend = name(
        `dx ${of}`,
        g.matmul_nn({ a: dy, b: W, a2: dz, b2: A, addend }, { ...attrs, stream: 0 }).y,
      )
      name(`dB ${of}`, g.matmul_tn({ a: dy, b: z }, sum).y)
      name(`dA ${of}`, g.matmul_tn({ a: dz, b: x }, sum).y)
    }
  })
}

test('products with few columns that read one tensor are neighbours', () => {
  const { g, names } = recordLinears(16)
  expect(orderOf(g.finish({}), names).join(', ')).toBe(
    'z q, q, z k, k, dz k, dx k, dB k, dA k, dz q, dx q, dB q, dA q',
  )
  expect(orderOf(groupProducts(g.finish({})), names).join(', ')).toBe(
    'z q, z k, q, k, dz k, dB k, dz q, dB q, dx k, dx q, dA k, dA q',
  )
})

test('products with more than 64 columns stay where they are', () => {
  const { g } = recordLinears(65)
  const program = g.finish({})
  expect(groupProducts(program).steps).toEqual(program.steps)
})

test('no product moves before a step that computes one of its inputs', () => {
  const { g, names } = record((g, name) => {
    const dy = g.input('dy', 'bf16', [T, 256])
    const B = g.input('B', 'bf16', [256, 16])
    const dz = name('dz', g.matmul_nn({ a: dy, b: B }, { ...attrs, stream: 0 }).y)
    const other = name('other', g.add({ a: dy, b: dy }, {}).y)
    name('dz of other', g.matmul_nn({ a: other, b: B }, { ...attrs, stream: 0 }).y)
    name('dB', g.matmul_tn({ a: dy, b: dz }, { ...attrs, dtype: 'f32' }).y)
  })
  expect(orderOf(groupProducts(g.finish({})), names)).toEqual(['dz', 'other', 'dz of other', 'dB'])
})

test('no product moves across a step that reads what it overwrites', () => {
  const { g } = record(g => {
    const a = g.input('a', 'bf16', [T, 256])
    const b = g.input('b', 'bf16', [T, 16])
    const [total, other] = [g.input('total', 'f32', [256, 16]), g.input('other', 'f32', [256, 16])]
    const sum = { ...attrs, dtype: 'f32' } as const
    g.accumulate({ total: other, x: g.matmul_tn({ a, b }, sum).y }, {})
    g.sum_squares({ x: total }, {})
    g.accumulate({ total, x: g.matmul_tn({ a, b }, sum).y }, {})
  })
  const program = addIntoSums(g.finish({}))
  expect(program.steps.map(({ op }) => op)).toEqual(['matmul_tn', 'sum_squares', 'matmul_tn'])
  expect(groupProducts(program).steps).toEqual(program.steps)
})
