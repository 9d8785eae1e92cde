/** The native scalar codecs against the TypeScript ones, code by code. */
import { expect, test } from 'vitest'
import {
  MINIFLOATS,
  NF4_TABLE,
  decodeE8m0,
  decodeMinifloat,
  encodeBf16,
  encodeE8m0,
  encodeMinifloat,
  encodeNf4,
  philox,
  uniform,
  type MinifloatName,
} from '@cairn-tune/ops'
import { loadAddon } from '@cairn-tune/native'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const addon = await loadAddon()

const allBytes = Uint8Array.from({ length: 256 }, (_, i) => i)
const decode = (format: string, codes: Uint8Array | Uint16Array) => {
  const out = new Float32Array(codes.length)
  addon.decode(format, codes, out)
  return out
}
const encode = <A extends Uint8Array | Uint16Array>(format: string, values: Float32Array, out: A): A => {
  addon.encode(format, values, out)
  return out
}

// Every exponent from the smallest subnormal to infinity, with random mantissas and both signs.
const values = new Float32Array(
  Uint32Array.from(
    { length: 40_000 },
    (_, i) => Math.floor(uniform({ seed: 3, step: 0, op: 0 }, i) * 2 ** 24) * 256 + (i % 256),
  ).buffer,
)
const finite = values.filter(value => !Number.isNaN(value))

test.each(Object.keys(MINIFLOATS) as MinifloatName[])(
  '%s decodes and encodes like the TypeScript codec',
  name => {
    const codes = allBytes.slice(0, MINIFLOATS[name].signBit * 2)
    expect(decode(name, codes)).toEqual(Float32Array.from(codes, code => decodeMinifloat(name, code)))
    const ladder = Float32Array.from(decode(name, codes)).filter(Number.isFinite).toSorted()
    const middles = ladder.slice(1).map((value, i) => (value + (ladder[i] ?? 0)) / 2)
    for (const some of [finite, ladder, middles]) {
      expect(encode(name, some, new Uint8Array(some.length))).toEqual(
        Uint8Array.from(some, value => encodeMinifloat(name, value)),
      )
    }
  },
)

test('bf16 encodes like the TypeScript codec and decodes all its codes', () => {
  const codes = Uint16Array.from({ length: 65536 }, (_, i) => i)
  const words = new Uint32Array(decode('bf16', codes).buffer)
  expect(words.every((word, code) => word === code * 65536)).toBe(true)
  expect(encode('bf16', values, new Uint16Array(values.length))).toEqual(Uint16Array.from(values, encodeBf16))
})

test('e8m0 and nf4 decode and encode like the TypeScript codecs', () => {
  const positive = finite.map(Math.abs)
  expect(decode('e8m0', allBytes)).toEqual(Float32Array.from(allBytes, decodeE8m0))
  expect(encode('e8m0', positive, new Uint8Array(positive.length))).toEqual(
    Uint8Array.from(positive, encodeE8m0),
  )
  expect(decode('nf4', allBytes.slice(0, 16))).toEqual(NF4_TABLE)
  const unit = Float32Array.from({ length: 5000 }, (_, i) => i / 2500 - 1)
  expect(encode('nf4', unit, new Uint8Array(5000))).toEqual(Uint8Array.from(unit, encodeNf4))
})

test.each(Object.keys(MINIFLOATS) as MinifloatName[])(
  '%s rounds stochastically like the TypeScript codec, without bias',
  name => {
    const uniforms = Float32Array.from({ length: 20_000 }, (_, i) => uniform({ seed: 9, step: 2, op: 1 }, i))
    const codes = (some: Float32Array) => {
      const out = new Uint8Array(some.length)
      addon.encodeStochastic(name, some, uniforms, out)
      return out
    }
    const some = finite
      .slice(0, 20_000)
      .map((value, i) => (i % 2 ? value : Math.fround(uniform({ seed: 4, step: 0, op: 0 }, i) * 8 - 4)))
    const padded = Float32Array.from({ length: 20_000 }, (_, i) => some[i] ?? 0)
    expect(codes(padded)).toEqual(
      Uint8Array.from(padded, (value, i) => encodeMinifloat(name, value, { uniform: uniforms[i] ?? 0 })),
    )
    // 2.1 lies between neighbours at most 1 apart, so the mean of n draws has a standard error below 0.5/√n =
    // 0.0035.
    const mean =
      codes(new Float32Array(20_000).fill(2.1)).reduce((sum, code) => sum + decodeMinifloat(name, code), 0) /
      20_000
    expect(Math.abs(mean - 2.1)).toBeLessThan(0.011)
  },
)

test('philox gives the same words as in TypeScript', () => {
  for (let i = 0; i < 100; i++) {
    const counter = [i, i * 7919, 0xffffffff - i, 5] as const
    const out = new Uint32Array(4)
    addon.philox(Uint32Array.from(counter), Uint32Array.of(i, 42), out)
    expect(Array.from(out)).toEqual(philox(counter, [i, 42]))
  }
})

test('rejects an unknown codec, a wrong array and a wrong length', () => {
  expect(() => addon.decode('e9m9', allBytes, new Float32Array(256))).toThrow('no codec is called e9m9')
  expect(() => addon.decode('e4m3', allBytes, new Float32Array(3))).toThrow(
    'expects as many codes as values, got 256 and 3',
  )
  expect(() => addon.decode('e4m3', [] as unknown as Uint8Array, new Float32Array(3))).toThrow(
    'expects a typed array',
  )
})
