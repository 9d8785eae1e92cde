/**
 * Products with an identity return the stored weights themselves, rounded to bf16: every code under every
 * scale, forward and towards the input, on every instruction set.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { byteLength, dequantize, partsOf, roundBf16, type Dtype, type Shape } from '@cairn-tune/ops'
import { createEngine, listIsas, type Engine } from '@cairn-tune/native'
import { runNative, tensor, type Value } from './one-op.ts'

const isas = await listIsas()
const engines = new Map<string, Engine>()
beforeAll(async () => {
  for (const isa of isas) engines.set(isa, await createEngine({ isa, threads: 2 }))
})
afterAll(() => engines.forEach(engine => engine.close()))

/** Whole tiles of every dtype, and the row that has a NaN. */
const [rows, columns, nanRow] = [320, 256, 5]
const shape: Shape = [rows, columns]

/** What each part of a dtype holds. Floats span all exponents that do not overflow with a code. */
type Fill = {
  bytes?: Record<string, (i: number) => number>
  floats?: Record<string, (i: number) => number>
}
/** Two codes of a byte: a block of sixteen numbers has every 4-bit code, in an order of its own. */
const everyNibble = (i: number) => {
  const code = (at: number) => (at * 5 + Math.floor(i / 2048)) % 16
  return code(2 * i) + 16 * code(2 * i + 1)
}
const [e4m3Nan, e8m0Nan] = [0x7f, 0xff]
const nanBlock = (block: number) => (nanRow * columns) / block
const withoutNan = (code: number) => (code % 128 === e4m3Nan ? 0 : code)
const e4m3 = (i: number) =>
  i === nanRow * columns + 3 ? e4m3Nan : withoutNan((i + Math.floor(i / columns)) % 256)
const wild = [0.0013, 300, 1e30, 1e-38, 2 ** -133, -1]
const FILLS: Partial<Record<Dtype, Fill>> = {
  nvfp4: {
    bytes: {
      codes: everyNibble,
      scales: i => (i === nanBlock(16) ? e4m3Nan : withoutNan(i % 256)),
    },
    floats: { tensor_scale: () => 0.0371 },
  },
  mxfp4: { bytes: { codes: everyNibble, scales: i => (i === nanBlock(32) ? e8m0Nan : i % 252) } },
  nf4: {
    bytes: { codes: everyNibble, scale_codes: i => i % 256 },
    floats: {
      group_scales: i => wild[i] ?? 1,
      offset: () => 0.0217,
      scale_map: i => Math.fround(Math.sin(i)),
    },
  },
  fp8_tiles: { bytes: { codes: e4m3 }, floats: { scales: i => wild[i] ?? 1 } },
  fp8_tensor: { bytes: { codes: e4m3 }, floats: { scale: () => 0.0371 } },
}

function stored(dtype: Dtype, { bytes = {}, floats = {} }: Fill): Value {
  const buffer = new Uint8Array(byteLength(dtype, shape))
  for (const { name, offset, bytes: size } of partsOf(dtype, shape)) {
    const [byte, float] = [bytes[name], floats[name]]
    if (byte)
      buffer.set(
        Uint8Array.from({ length: size }, (_, i) => byte(i)),
        offset,
      )
    else if (float)
      new Float32Array(buffer.buffer, offset, size / 4).set(
        Float32Array.from({ length: size / 4 }, (_, i) => float(i)),
      )
    else throw new Error(`the test has no numbers for part ${name} of ${dtype}`)
  }
  return { dtype, shape, bytes: buffer, numbers: Float64Array.from(dequantize(buffer, dtype, shape)) }
}

const identity = (n: number) =>
  tensor(
    'bf16',
    [n, n],
    Float64Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0)),
  )

/** The dot instruction makes subnormal numbers zero, and no sum shows the sign of a zero. */
const visible = (value: number) => (Math.abs(value) < 2 ** -126 ? 0 : value)

/** Weights as columns of a result. A NaN among the numbers of a column makes all of it NaN. */
function expected(numbers: Float64Array, isTransposed: boolean): number[] {
  const [m, n] = isTransposed ? [columns, rows] : [rows, columns]
  const at = (i: number, j: number) => numbers[isTransposed ? j * columns + i : i * columns + j] ?? 0
  const hasNan = Array.from({ length: n }, (_, j) =>
    Array.from({ length: m }, (__, i) => at(i, j)).some(Number.isNaN),
  )
  return Array.from({ length: m * n }, (_, i) =>
    hasNan[i % n] ? NaN : visible(roundBf16(at(Math.floor(i / n), i % n))),
  )
}

/** The first differences. A comparison of all numbers takes minutes to report many differences. */
function differences(numbers: Float64Array, wanted: readonly number[]): string[] {
  const found: string[] = []
  for (const [i, value] of Array.from(numbers, visible).entries())
    if (!Object.is(value, wanted[i]) && found.length < 4) found.push(`${i}: ${value}, not ${wanted[i]}`)
  return found
}

describe.each(isas)('%s', isa => {
  test.each(Object.entries(FILLS))('%s: every code under every scale', async (dtype, fill) => {
    const b = stored(dtype as Dtype, fill)
    expect(b.numbers.some(Number.isNaN)).toBe(dtype !== 'nf4')
    const attrs = { alpha: 1, arithmetic: 'bf16', dtype: 'f32' } as const
    const engine = engines.get(isa)!
    const forward = await runNative(engine, 'matmul_nt', { a: identity(columns), b }, attrs)
    expect(differences(forward.y!.numbers, expected(b.numbers, true))).toEqual([])
    const back = await runNative(engine, 'matmul_nn', { a: identity(rows), b }, { ...attrs, stream: 0 })
    expect(differences(back.y!.numbers, expected(b.numbers, false))).toEqual([])
  })
})
