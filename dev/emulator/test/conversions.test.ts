import { decodeMinifloat, encodeBf16, encodeMinifloat, type MinifloatName } from '@cairn-tune/ops'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card } from './card.ts'
import { bits32, bits64, evaluate, float32, type Row } from './evaluate.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

/** Every value of a format with its ties, the limits of f32, and values between them. */
const values = [
  0,
  -0,
  1,
  -1,
  0.5,
  1.5,
  2.5,
  447,
  448,
  464,
  465,
  57344,
  61440,
  1e9,
  -1e9,
  2 ** -6,
  2 ** -9,
  2 ** -10,
  3 * 2 ** -11,
  2 ** -16,
  2 ** -17,
  0.25,
  0.75,
  1.25,
  3.5,
  5,
  5.5,
  6,
  7,
  1e-30,
  3.4e38,
  -3.4e38,
  1.00390625,
  1.01171875,
]
const chunks = (all: readonly number[]) =>
  Array.from({ length: Math.ceil(all.length / 32) }, (_, at) => all.slice(at * 32, at * 32 + 32))

const random = Array.from({ length: 192 }, (_, i) =>
  Math.fround(Math.sin(i * 12.9898) * 2 ** ((i % 40) - 22)),
)
const all = [...values, ...random]

/** The instruction's result for each number. */
function convert(text: string, shape: string, encode: (value: number) => bigint, target?: string): bigint[] {
  const parts = chunks(all)
  const rows: Row[] = parts.map(part => ({ text, shape, inputs: [part.map(encode)] }))
  return evaluate(card, rows, target).flatMap((row, at) => row.slice(0, parts[at]!.length))
}

describe('converts f32 to the codes of the codecs', () => {
  test('bf16, single and in pairs', () => {
    const single = convert('cvt.rn.bf16.f32 $d, $a;', 'hw', bits32, 'sm_90')
    const pairs = convert('{ .reg .b32 %x; cvt.rn.bf16x2.f32 $d, $a, 0f3F800000; }', 'ww', bits32)
    all.forEach((value, at) => {
      const code = BigInt(encodeBf16(value))
      expect([value, single[at]]).toEqual([value, code])
      expect([value, pairs[at]]).toEqual([value, (code << 16n) | 0x3f80n])
    })
  })

  /** Promise T2.5: Conversions of the emulated card match the codecs. */
  test.each(['e4m3', 'e5m2'] as const)('%s pairs, saturated', (name: MinifloatName) => {
    const codes = convert(`cvt.rn.satfinite.${name}x2.f32 $d, $a, 0f3F800000;`, 'hw', bits32, 'sm_89')
    all.forEach((value, at) =>
      expect([value, codes[at]]).toEqual([
        value,
        (BigInt(encodeMinifloat(name, value)) << 8n) | BigInt(encodeMinifloat(name, 1)),
      ]),
    )
  })

  test('e2m1 pairs in a byte', () => {
    const text = '{ .reg .b8 %x; cvt.rn.satfinite.e2m1x2.f32 %x, $a, 0f40400000; mov.b32 $d, {%x, 0, 0, 0}; }'
    const codes = convert(text, 'ww', bits32, 'sm_100a')
    all.forEach((value, at) =>
      expect([value, codes[at]]).toEqual([value, (BigInt(encodeMinifloat('e2m1', value)) << 4n) | 5n]),
    )
  })
})

test.each(['e4m3', 'e5m2'] as const)('converts each code of %s to its value in f16', name => {
  const codes = Array.from({ length: 256 }, (_, code) => BigInt(code))
  const rows: Row[] = Array.from({ length: 8 }, (_, at) => ({
    text: `{ .reg .b32 %x; .reg .b16 %l, %h; cvt.rn.f16x2.${name}x2 %x, $a; mov.b32 {%l, %h}, %x;
    cvt.f32.f16 $d, %l; }`,
    shape: 'wh',
    inputs: [codes.slice(at * 32, at * 32 + 32)],
  }))
  const numbers = evaluate(card, rows, 'sm_89').flat()
  codes.forEach((code, at) => {
    const expected = decodeMinifloat(name, Number(code))
    expect([code, float32(numbers[at]!)]).toEqual([code, expected])
  })
})

test('converts f32 to integers in every rounding mode, with saturation and NaN', () => {
  const of = (text: string, f: (value: number) => number, low: number, high: number) => {
    const results = convert(text, 'ww', bits32)
    all.forEach((value, at) =>
      expect([text, value, BigInt.asIntN(33, results[at]!)]).toEqual([
        text,
        value,
        BigInt.asUintN(32, BigInt(Math.min(high, Math.max(low, f(value))))),
      ]),
    )
  }
  const even = (value: number) => {
    const down = Math.floor(value)
    const rest = value - down
    return rest > 0.5 || (rest === 0.5 && down % 2 !== 0) ? down + 1 : down
  }
  of('cvt.rzi.s32.f32 $d, $a;', Math.trunc, -(2 ** 31), 2 ** 31 - 1)
  of('cvt.rni.s32.f32 $d, $a;', even, -(2 ** 31), 2 ** 31 - 1)
  of('cvt.rmi.s32.f32 $d, $a;', Math.floor, -(2 ** 31), 2 ** 31 - 1)
  of('cvt.rpi.u32.f32 $d, $a;', Math.ceil, 0, 2 ** 32 - 1)
  const [nan] = evaluate(card, [{ text: 'cvt.rzi.s32.f32 $d, $a;', shape: 'ww', inputs: [[bits32(NaN)]] }])
  expect(nan![0]).toBe(0n)
})

test('converts f64 to f32 in every rounding mode, integers to f32, and sign-extends narrow integers', () => {
  const near = 1 + 2 ** -30
  const one = (text: string, shape: string, input: bigint) =>
    evaluate(card, [{ text, shape, inputs: [[input]] }])[0]![0]!
  expect(float32(one('cvt.rn.f32.f64 $d, $a;', 'wd', bits64(near)))).toBe(1)
  expect(float32(one('cvt.rp.f32.f64 $d, $a;', 'wd', bits64(near)))).toBe(1 + 2 ** -23)
  expect(float32(one('cvt.rz.f32.f64 $d, $a;', 'wd', bits64(-near)))).toBe(-1)
  expect(float32(one('cvt.rm.f32.f64 $d, $a;', 'wd', bits64(-near)))).toBe(-1 - 2 ** -23)
  expect(float32(one('cvt.rn.f32.s32 $d, $a;', 'ww', 0xffffffffn))).toBe(-1)
  expect(float32(one('cvt.rn.f32.u32 $d, $a;', 'ww', 0xffffffffn))).toBe(2 ** 32)
  expect(float32(one('cvt.rn.f32.u64 $d, $a;', 'wd', 0xffffffffffffffffn))).toBe(2 ** 64)
  expect(one('cvt.s32.s8 $d, $a;', 'ww', 0x1ffn)).toBe(0xffffffffn)
  expect(one('cvt.u32.u8 $d, $a;', 'ww', 0x1ffn)).toBe(0xffn)
  expect(one('cvt.sat.u8.s32 $d, $a;', 'ww', 0xfffffff0n)).toBe(0n)
  expect(one('cvt.rna.tf32.f32 $d, $a;', 'ww', 0x3f801000n)).toBe(0x3f802000n)
})
