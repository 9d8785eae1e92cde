/**
 * Rounding to small formats in the packing of a matmul: every bf16 number passes through a product with the
 * identity and is rounded exactly as by the oracle.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { decodeBf16, type Attrs } from '@cairn-tune/ops'
import { createEngine, listIsas, type Engine } from '@cairn-tune/native'
import { keyOf, roundByBlocks, roundByTensor } from '../src/oracle/rounding.ts'
import { runNative, tensor } from './one-op.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engines: [string, Engine][] = []
for (const isa of await listIsas()) engines.push([isa, await createEngine({ isa, threads: 2 })])
afterAll(() => engines.forEach(([, engine]) => engine.close()))

const size = 256
const all = Float64Array.from({ length: size * size }, (_, code) =>
  Number.isFinite(decodeBf16(code)) ? decodeBf16(code) : 0,
)
// In the order of codes, a block of 16 has one sign and exponent; transposed, each block has numbers of every
// magnitude.
const transposed = all.map((_, i) => all[(i % size) * size + Math.floor(i / size)] ?? 0)
const identity = tensor(
  'bf16',
  [size, size],
  Float64Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0)),
)
const random = tensor('i32', [3], [-5, 3, 42])
const amaxOf = (value: number) => tensor('f32', [1], [value])

async function rounded(
  engine: Engine,
  values: Float64Array,
  amax: number,
  attrs: Attrs,
  op: 'matmul_nt' | 'matmul_nn',
  isRandom = false,
): Promise<Float64Array> {
  const inputs = {
    a: tensor('bf16', [size, size], values),
    b: identity,
    a_amax: amaxOf(amax),
    ...(isRandom ? { random } : {}),
  }
  const { y } = await runNative(engine, op, inputs, { alpha: 1, dtype: 'f32', ...attrs })
  return y!.numbers
}

const f32 = (values: Float64Array) => Float64Array.from(values, value => Math.fround(value) + 0)
const matrix = (values: Float64Array) => ({ shape: [size, size], values })

describe.each(engines)('%s', (_, engine) => {
  /** Promise T7: fp8 and NVFP4 round the operands of base matmuls exactly to the format's grid. */
  test.each([1, 448, 3e-5, 1e30])(
    'fp8_hybrid: activations round to E4M3 scaled by a maximum of %d, saturating',
    async amax => {
      expect(
        await rounded(engine, all, Math.fround(amax), { arithmetic: 'fp8_hybrid' }, 'matmul_nt'),
      ).toEqual(f32(roundByTensor(matrix(all), 'e4m3', Math.fround(amax)).values))
    },
  )

  test.each([1, 57_344, 1e-6])(
    'fp8_hybrid: gradients round to E5M2 scaled by a maximum of %d',
    async amax => {
      const given = Math.fround(amax)
      expect(await rounded(engine, all, given, { arithmetic: 'fp8_hybrid', stream: 0 }, 'matmul_nn')).toEqual(
        f32(roundByTensor(matrix(all), 'e5m2', given).values),
      )
    },
  )

  test.each([
    ['in order', all],
    ['transposed', transposed],
  ] as const)('nvfp4: blocks of 16 %s', async (__, values) => {
    const bounded = values.map(value => Math.max(-64, Math.min(64, value)))
    expect(await rounded(engine, bounded, 64, { arithmetic: 'nvfp4' }, 'matmul_nt')).toEqual(
      f32(roundByBlocks(matrix(bounded), 64).values),
    )
    const drawn = roundByBlocks(matrix(bounded), 64, keyOf({ shape: [3], values: random.numbers }, 77))
    expect(
      await rounded(engine, bounded, 64, { arithmetic: 'nvfp4', stream: 77 }, 'matmul_nn', true),
    ).toEqual(f32(drawn.values))
  })

  test('nvfp4: zeros stay zero', async () => {
    expect(
      await rounded(
        engine,
        all.map(() => 0),
        0,
        { arithmetic: 'nvfp4' },
        'matmul_nt',
      ),
    ).toEqual(new Float64Array(size * size))
  })
})

test('stochastic rounding is unbiased', () => {
  const value = 0.3
  const values = Float64Array.from({ length: 20_000 * 16 }, (_, i) => (i % 16 === 0 ? 6 : value))
  const { values: drawn } = roundByBlocks({ shape: [20_000, 16], values }, 6, { seed: 1, step: 2, stream: 3 })
  const mean = drawn.reduce((sum, one, i) => (i % 16 === 0 ? sum : sum + one), 0) / (20_000 * 15)
  expect(Math.abs(mean - value)).toBeLessThan(0.002)
  expect(new Set(drawn.map(one => Math.round(one * 1000))).size).toBe(3)
})
