/**
 * Sums that several blocks of a launch share on a card: the last block to arrive adds them, in an order that
 * does not depend on which block that is, and leaves the counter of arrivals ready for the next launch.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, createEngine, findNvcc, nvccCandidates, type Engine } from '@cairn-tune/native'
import { noise, runNative, tensor, type Value } from './one-op.ts'
import { range } from './serving-cases.ts'

/** The steps of k are divided among three blocks for one tile and this length. */
const [BLOCKS, SHARE] = [3, 512]
const K = BLOCKS * SHARE

/**
 * Each block's sum is one number: 2²⁴, 1 and 2. In this order the 1 is lost to rounding. Another order, or a
 * sum that is added twice, gives another result.
 */
const operands = (form: 'nt' | 'nn' | 'tn', [m, n]: readonly [number, number]) => {
  const sums = [2 ** 24, 1, 2]
  const valueAt = (k: number) => (k % SHARE > 0 ? 0 : (sums[k / SHARE] ?? NaN))
  const of = (rows: number, columns: number, value: (row: number, column: number) => number) =>
    tensor(
      'bf16',
      [rows, columns],
      range(rows * columns, i => value(Math.floor(i / columns), i % columns)),
    )
  const a = form === 'tn' ? of(K, m, () => 1) : of(m, K, () => 1)
  const b = form === 'nt' ? of(n, K, (_, k) => valueAt(k)) : of(K, n, k => valueAt(k))
  return { a, b, expected: 2 ** 24 + 2 }
}

async function sumOf(engine: Engine, x: Value, parts?: Value): Promise<Value> {
  const { y } = await runNative(engine, 'sum_squares', parts ? { x, parts } : { x }, {})
  if (!y) throw new Error('no sum')
  return y
}

/** Parts of one, two and no spans, with gaps. */
const ENDS = [3, 3, 8, 20_000, 20_032, 20_033, 20_050, 39_000]

async function compareParts(engine: Engine): Promise<void> {
  for (const dtype of ['f32', 'bf16'] as const) {
    const x = noise(dtype, [40_000], 5)
    let sum = 0
    for (let i = 0; i < ENDS.length; i += 2) {
      const [from = 0, to = 0] = ENDS.slice(i, i + 2)
      const part = tensor(dtype, [to - from], x.numbers.slice(from, to))
      if (to > from) sum = Math.fround(sum + (await sumOf(engine, part)).numbers[0]!)
    }
    const { numbers } = await sumOf(engine, x, tensor('i32', [ENDS.length / 2, 2], ENDS))
    expect(numbers[0]).toBe(sum)
  }
}

test.each([[[[4, 3]]], [[[0, 5, 4, 9]]], [[[0, 101]]], [[[-1, 5]]]])(
  'the processor rejects parts %j of 100 numbers',
  async ([ends]) => {
    using engine = await createEngine({ threads: 1 })
    const parts = tensor('i32', [ends!.length / 2, 2], ends!)
    await expect(sumOf(engine, noise('f32', [100], 1), parts)).rejects.toThrow('parts must ascend within x')
  },
)

test('the sum of parts has the bits of one sum for each on the processor', async () => {
  using engine = await createEngine({ threads: 2 })
  await compareParts(engine)
})

type On = { capability: string; kernels: 'classic' | '' }

function addOnCard({ capability, kernels }: On): void {
  let engine: Engine
  beforeAll(async () => {
    await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: capability })
    engine = await createCudaEngine({ kernels })
  }, 600_000)
  afterAll(() => {
    engine.close()
    vi.unstubAllEnvs()
  })

  test.each([
    ['nt', [64, 16]],
    ['nn', [64, 16]],
    ['tn', [16, 64]],
    // Rows of odd length, whose numbers are written one by one.
    ['nn', [70, 17]],
  ] as const)(
    'blocks that share k are added in the order of k, again and again: %s %j',
    async (form, sizes) => {
      const { expected, ...inputs } = operands(form, sizes)
      const attrs = { alpha: 1, arithmetic: 'bf16', dtype: 'f32' } as const
      for (let run = 0; run < 3; run++) {
        const { y } = await runNative(
          engine,
          `matmul_${form}`,
          inputs,
          form === 'nn' ? { ...attrs, stream: 0 } : attrs,
        )
        expect([...new Set(y?.numbers)], `run ${run}`).toEqual([expected])
      }
    },
    600_000,
  )

  test('the sum of parts has the bits of one sum for each', async () => {
    await compareParts(engine)
  }, 600_000)

  test('parts outside x are rejected', async () => {
    const x = noise('f32', [100], 1)
    for (const ends of [
      [4, 3],
      [0, 5, 4, 9],
      [0, 101],
      [-1, 5],
    ])
      await expect(sumOf(engine, x, tensor('i32', [ends.length / 2, 2], ends))).rejects.toThrow(
        'parts must ascend within x',
      )
  }, 600_000)
}

if (findNvcc(nvccCandidates(process.env)) !== undefined)
  describe.each([
    { capability: '80', kernels: '' },
    { capability: '90', kernels: '' },
    // Products with few columns have kernels of their own otherwise.
    { capability: '80', kernels: 'classic' },
  ] as const)('on the emulated card of capability $capability, kernels "$kernels"', addOnCard)
