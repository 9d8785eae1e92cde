import { expect, test } from 'vitest'
import {
  MINIFLOATS,
  decodeBf16,
  decodeE8m0,
  decodeMinifloat,
  encodeBf16,
  encodeE8m0,
  encodeMinifloat,
  exponentOf,
  type MinifloatName,
} from './minifloat.ts'

// The formats field by field as in their definitions, independent of the code under test.
const literal: Record<MinifloatName, (code: number) => number> = {
  e2m1: code => (code & 8 ? -1 : 1) * ([0, 0.5, 1, 1.5, 2, 3, 4, 6][code & 7] ?? NaN),
  e4m3: code => {
    const bits = code.toString(2).padStart(8, '0')
    const [sign, exponent, mantissa] = [
      bits[0] === '1' ? -1 : 1,
      Number.parseInt(bits.slice(1, 5), 2),
      Number.parseInt(bits.slice(5), 2),
    ]
    if (exponent === 15 && mantissa === 7) return NaN
    return sign * (exponent === 0 ? (2 ** -6 * mantissa) / 8 : 2 ** (exponent - 7) * (1 + mantissa / 8))
  },
  e5m2: code => {
    const bits = code.toString(2).padStart(8, '0')
    const [sign, exponent, mantissa] = [
      bits[0] === '1' ? -1 : 1,
      Number.parseInt(bits.slice(1, 6), 2),
      Number.parseInt(bits.slice(6), 2),
    ]
    if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN
    return sign * (exponent === 0 ? (2 ** -14 * mantissa) / 4 : 2 ** (exponent - 15) * (1 + mantissa / 4))
  },
}
const names = Object.keys(MINIFLOATS) as MinifloatName[]
const codesOf = (name: MinifloatName) =>
  Array.from({ length: MINIFLOATS[name].signBit * 2 }, (_, code) => code)

test.each(names)('%s: every code decodes to the value of its definition', name => {
  for (const code of codesOf(name))
    expect(decodeMinifloat(name, code), String(code)).toBe(literal[name](code))
})

test.each(names)('%s: every finite value encodes to its own code', name => {
  for (const code of codesOf(name)) {
    const value = literal[name](code)
    if (Number.isFinite(value)) expect(encodeMinifloat(name, value)).toBe(code)
  }
})

test.each(names)('%s: rounds to the nearest value, with ties to the even code', name => {
  const { maxCode } = MINIFLOATS[name]
  for (let code = 0; code < maxCode; code++) {
    const [low, high] = [literal[name](code), literal[name](code + 1)]
    const middle = (low + high) / 2
    expect(encodeMinifloat(name, middle)).toBe(code % 2 === 0 ? code : code + 1)
    expect(encodeMinifloat(name, middle - (high - low) / 1024)).toBe(code)
    expect(encodeMinifloat(name, middle + (high - low) / 1024)).toBe(code + 1)
  }
})

test.each(names)('%s: saturates beyond its largest value, including infinity', name => {
  const { maxCode, signBit } = MINIFLOATS[name]
  for (const value of [literal[name](maxCode) * 4, Infinity]) {
    expect(encodeMinifloat(name, value)).toBe(maxCode)
    expect(encodeMinifloat(name, -value)).toBe(maxCode | signBit)
  }
})

test('encodes NaN if the format has one and rejects it otherwise', () => {
  expect(decodeMinifloat('e4m3', encodeMinifloat('e4m3', NaN))).toBeNaN()
  expect(decodeMinifloat('e5m2', encodeMinifloat('e5m2', NaN))).toBeNaN()
  expect(() => encodeMinifloat('e2m1', NaN)).toThrow('[e2m1] cannot hold NaN')
})

test('stochastic rounding takes the upper neighbour with the probability of the fraction', () => {
  const draws = 1000
  const ups = Array.from({ length: draws }, (_, i) =>
    encodeMinifloat('e2m1', 2.25, { uniform: i / draws }),
  ).filter(code => code === 5)
  expect(ups.length).toBe(draws / 4)
  expect(encodeMinifloat('e2m1', 3, { uniform: 0 })).toBe(5)
})

test('bf16: all 65536 codes survive a round trip, and values round to nearest with ties to even', () => {
  const bits = new Uint32Array(1)
  const value = new Float32Array(bits.buffer)
  for (let code = 0; code < 65536; code++) {
    bits[0] = code << 16
    const number = value[0] ?? 0
    expect(decodeBf16(code)).toBe(number)
    if (!Number.isNaN(number)) expect(encodeBf16(number)).toBe(code)
  }
  for (const [word, code] of [
    [0x3f808000, 0x3f80],
    [0x3f818000, 0x3f82],
    [0x3f808001, 0x3f81],
    [0x7f7fffff, 0x7f80],
    [0x00008001, 0x0001],
  ] as const) {
    bits[0] = word
    expect(encodeBf16(value[0] ?? 0)).toBe(code)
  }
  expect(decodeBf16(encodeBf16(NaN))).toBeNaN()
})

test('e8m0: every code is a power of two, and encoding rounds down', () => {
  for (let code = 0; code < 255; code++) {
    expect(decodeE8m0(code)).toBe(2 ** (code - 127))
    expect(encodeE8m0(decodeE8m0(code))).toBe(code)
    if (code > 0 && code < 254) expect(encodeE8m0(decodeE8m0(code) * 1.99)).toBe(code)
  }
  expect(decodeE8m0(255)).toBeNaN()
  expect(encodeE8m0(Infinity)).toBe(254)
})

test('exponentOf is exact at powers of two and just below them', () => {
  for (const power of [-1074, -1023, -126, -1, 0, 1, 127, 1023]) expect(exponentOf(2 ** power)).toBe(power)
  expect(exponentOf(1 - 2 ** -53)).toBe(-1)
  expect(exponentOf(4 - 2 ** -51)).toBe(1)
})
