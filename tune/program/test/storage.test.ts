/** Quantising and decoding match the TypeScript codecs; long and tall matmuls cover every loop. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dequantize, quantize } from '@cairn-tune/ops'
import { createEngine, listIsas, type Engine } from '@cairn-tune/native'
import { WILD } from './byte-cases.ts'
import { noise, relativeError, runNative, tensor } from './one-op.ts'

const isas = await listIsas()
const engines = new Map<string, Engine>()
beforeAll(async () => {
  for (const isa of isas) engines.set(isa, await createEngine({ isa, threads: 2 }))
})
afterAll(() => engines.forEach(engine => engine.close()))
const engineOf = (isa: string) => engines.get(isa)!

const { shape } = WILD

describe.each(isas)('%s', isa => {
  test.each(['fp8_tiles', 'fp8_tensor', 'nvfp4', 'mxfp4', 'nf4', 'bf16', 'bf16_vnni', 'f32'] as const)(
    '%s: quantize and dequantize match the TypeScript codec',
    async dtype => {
      const bytes = quantize(Float32Array.from(WILD.numbers), dtype, shape)
      const { y } = await runNative(engineOf(isa), 'quantize', { x: WILD }, { dtype })
      expect(Buffer.compare(y!.bytes, bytes)).toBe(0)
      const back = await runNative(
        engineOf(isa),
        'dequantize',
        { x: { ...WILD, dtype, bytes } },
        { dtype: 'f32' },
      )
      expect(back.y?.numbers).toEqual(Float64Array.from(dequantize(bytes, dtype, shape)))
    },
  )
})

test('quantises a bf16 input by its values', async () => {
  const given = noise('bf16', shape, 41)
  const { y } = await runNative(engineOf(isas.at(-1)!), 'quantize', { x: given }, { dtype: 'nf4' })
  expect(Buffer.compare(y!.bytes, quantize(Float32Array.from(given.numbers), 'nf4', shape))).toBe(0)
})

// A product with constant rows needs no oracle: its result is a sum of columns.
test.each([
  ['k longer than one block of words', 3, 50_000, 5],
  ['more rows than a block', 4103, 40, 3],
] as const)('matmul with %s', async (_, m, k, n) => {
  const a = noise('bf16', [m, k], 42)
  const b = tensor(
    'bf16',
    [n, k],
    Float64Array.from({ length: n * k }, (__, i) => (Math.floor(i / k) + 1) * (i % 2 ? 0.5 : 1)),
  )
  const { y } = await runNative(
    engineOf(isas.at(-1)!),
    'matmul_nt',
    { a, b },
    { alpha: 1, arithmetic: 'bf16', dtype: 'f32' },
  )
  const sums = Array.from({ length: m }, (__, i) =>
    a.numbers.subarray(i * k, (i + 1) * k).reduce((sum, value, j) => sum + value * (j % 2 ? 0.5 : 1), 0),
  )
  expect(
    relativeError(
      y!.numbers,
      Array.from({ length: m * n }, (__, i) => (sums[Math.floor(i / n)] ?? 0) * ((i % n) + 1)),
    ),
  ).toBeLessThan(1e-5)
})
