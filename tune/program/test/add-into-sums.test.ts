/**
 * Gradients that join their sums inside the op that computes them: the same bits as with an addition after
 * it, on the processor and on the emulated card.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { createCudaEngine, createEngine, findNvcc, nvccCandidates, type Engine } from '@cairn-tune/native'
import {
  adoptAll,
  addIntoSums,
  createRecorder,
  planMemory,
  prepare,
  type Program,
  type Recorder,
  type Tensor,
} from '@cairn-tune/program'
import { countDifferent } from './byte-cases.ts'
import { noise } from './one-op.ts'

type Product = { k: number; m: number; n: number; arithmetic: 'f32' | 'bf16' }

/** The gradient of a matrix, added to its sum. */
function recordSum({ k, m, n, arithmetic }: Product, more?: (g: Recorder, y: Tensor) => void): Program {
  const g = createRecorder()
  const [a, b] = [g.input('a', 'bf16', [k, m]), g.input('b', 'bf16', [k, n])]
  const { y } = g.matmul_tn({ a, b }, { alpha: 1, arithmetic, dtype: 'f32' })
  more?.(g, y)
  g.accumulate({ total: g.input('total', 'f32', [m, n]), x: y }, {})
  return g.finish({})
}

const opsOf = ({ steps }: Program) => steps.map(({ op }) => op)

/** The sum after two runs. */
async function runTwice(engine: Engine, program: Program, { k, m, n }: Product): Promise<Uint8Array> {
  const buffers = adoptAll(engine, {
    a: noise('bf16', [k, m], 1).bytes,
    b: noise('bf16', [k, n], 2).bytes,
    total: noise('f32', [m, n], 3).bytes.slice(),
  })
  const prepared = prepare(engine, program)
  await prepared.run(buffers)
  await prepared.run(buffers)
  return (await engine.read(buffers['total']!)).slice()
}

/** Both sides of an adapter, one with sums split over blocks of a card, and a matrix of several tiles. */
const PRODUCTS: readonly Product[] = (['f32', 'bf16'] as const).flatMap(arithmetic => [
  { k: 70, m: 16, n: 100, arithmetic },
  { k: 70, m: 100, n: 16, arithmetic },
  { k: 1100, m: 40, n: 3, arithmetic },
  { k: 33, m: 150, n: 210, arithmetic },
])

function compareBits(open: () => Promise<Engine>): void {
  let engine: Engine
  beforeAll(async () => {
    engine = await open()
  }, 600_000)
  afterAll(() => {
    engine.close()
    vi.unstubAllEnvs()
  })

  test.each(PRODUCTS)('$m × $n over $k in $arithmetic', async product => {
    const recorded = recordSum(product)
    const fused = addIntoSums(recorded)
    expect([opsOf(recorded), opsOf(fused)]).toEqual([['matmul_tn', 'accumulate'], ['matmul_tn']])
    const [own, other] = [await runTwice(engine, fused, product), await runTwice(engine, recorded, product)]
    expect(countDifferent(own, other)).toBe(0)
  })
}

describe('on the processor', () => compareBits(() => createEngine({ threads: 2 })))
if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', () =>
    compareBits(async () => {
      vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
      return await createCudaEngine()
    }))
}

const small: Product = { k: 2, m: 3, n: 4, arithmetic: 'f32' }

test('a fused sum needs no memory for its gradient', () => {
  const recorded = recordSum(small)
  expect(planMemory(recorded).arenaBytes).toBeGreaterThan(0)
  expect(planMemory(addIntoSums(recorded)).arenaBytes).toBe(0)
})

test('a gradient that something else reads is added after its op', () => {
  const program = recordSum(small, (g, x) => g.sum_squares({ x }, {}))
  expect(opsOf(addIntoSums(program))).toEqual(['matmul_tn', 'accumulate', 'sum_squares'])
})

test('a gradient that the program returns is added after its op', () => {
  const program = recordSum(small)
  const y = program.steps[0]!.outputs['y']!
  expect(opsOf(addIntoSums({ ...program, outputs: { y } }))).toEqual(['matmul_tn', 'accumulate'])
})

test('the gradient of an op that cannot write over a sum is added right after it', () => {
  const g = createRecorder()
  const [a, dy] = [g.input('a', 'f32', [4]), g.input('dy', 'f32', [2, 4])]
  const { dbias } = g.bias_grad({ dy }, {})
  g.scale({ x: a, factor: g.input('factor', 'f32', [1]) }, {})
  g.accumulate({ total: g.input('total', 'f32', [4]), x: dbias }, {})
  expect(opsOf(addIntoSums(g.finish({})))).toEqual(['bias_grad', 'accumulate', 'scale'])
})
