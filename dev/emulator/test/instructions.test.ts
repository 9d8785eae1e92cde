import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card } from './card.ts'
import { bits32, bits64, evaluate, float32, float64, type Row } from './evaluate.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

type Case = Row & { expected: (...inputs: bigint[]) => bigint }

/** Runs every case in one kernel and compares each lane with the function. */
function check(cases: readonly Case[], target?: string): void {
  const results = evaluate(card, cases, target)
  for (const [at, { text, inputs, expected }] of cases.entries())
    for (const [lane, result] of results[at]!.entries()) {
      const given = inputs.map(input => input[lane % input.length]!)
      expect({ text, given, result }).toEqual({ text, given, result: expected(...given) })
    }
}

const u32 = (value: bigint) => BigInt.asUintN(32, value)
const s32 = (value: bigint) => BigInt.asIntN(32, value)
const u64 = (value: bigint) => BigInt.asUintN(64, value)
const s64 = (value: bigint) => BigInt.asIntN(64, value)
const words = [
  0n,
  1n,
  2n,
  7n,
  31n,
  32n,
  255n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x12345678n,
  0xdeadbeefn,
]
const others = [3n, 0xffffffffn, 1n, 0x80000000n, 5n, 0x10000n, 17n]
const longs = [...words, 0x7fffffffffffffffn, 0x8000000000000000n, 0xffffffffffffffffn, 0x123456789abcdefn]
const max = (a: bigint, b: bigint) => (a > b ? a : b)

test('32-bit integers: sums, products and their halves, quotients, minimum and maximum', () => {
  const of = (text: string, expected: Case['expected']): Case => ({
    text,
    shape: 'wwww'.slice(0, expected.length + 1),
    inputs: [words, others, [9n, 0xfffffff0n]].slice(0, expected.length),
    expected,
  })
  check([
    of('add.s32 $d, $a, $b;', (a, b) => u32(a + b)),
    of('sub.s32 $d, $a, $b;', (a, b) => u32(a - b)),
    of('mul.lo.s32 $d, $a, $b;', (a, b) => u32(a * b)),
    of('mul.hi.u32 $d, $a, $b;', (a, b) => u32((a * b) >> 32n)),
    of('mul.hi.s32 $d, $a, $b;', (a, b) => u32((s32(a) * s32(b)) >> 32n)),
    of('mad.lo.s32 $d, $a, $b, $c;', (a, b, c) => u32(a * b + c)),
    of('div.u32 $d, $a, $b;', (a, b) => a / b),
    of('div.s32 $d, $a, $b;', (a, b) => u32(s32(a) / s32(b))),
    of('rem.s32 $d, $a, $b;', (a, b) => u32(s32(a) % s32(b))),
    of('max.s32 $d, $a, $b;', (a, b) => u32(max(s32(a), s32(b)))),
    of('min.u32 $d, $a, $b;', (a, b) => (a < b ? a : b)),
    of('abs.s32 $d, $a;', a => u32(s32(a) < 0n ? -s32(a) : s32(a))),
    of('add.sat.s32 $d, $a, $b;', (a, b) => {
      const sum = s32(a) + s32(b)
      return u32(sum > 0x7fffffffn ? 0x7fffffffn : sum < -0x80000000n ? -0x80000000n : sum)
    }),
    of('{ add.cc.u32 $d, $a, $b; addc.u32 $d, $a, 0; }', (a, b) => u32(a + ((a + b) >> 32n))),
    of('dp4a.s32.s32 $d, $a, $b, $c;', (a, b, c) => {
      const part = (v: bigint, k: bigint) => BigInt.asIntN(8, v >> (8n * k))
      return u32([0n, 1n, 2n, 3n].reduce((sum, k) => sum + part(a, k) * part(b, k), s32(c)))
    }),
  ])
})

test('64-bit and 16-bit integers and widening products', () => {
  check([
    { text: 'mul.wide.u32 $d, $a, $b;', shape: 'dww', inputs: [words, others], expected: (a, b) => a * b },
    {
      text: 'mul.wide.s32 $d, $a, $b;',
      shape: 'dww',
      inputs: [words, others],
      expected: (a, b) => u64(s32(a) * s32(b)),
    },
    {
      text: 'mad.wide.s32 $d, $a, $b, $c;',
      shape: 'dwwd',
      inputs: [words, others, longs],
      expected: (a, b, c) => u64(s32(a) * s32(b) + c),
    },
    {
      text: 'mul.hi.u64 $d, $a, $b;',
      shape: 'ddd',
      inputs: [longs, longs.toReversed()],
      expected: (a, b) => (a * b) >> 64n,
    },
    {
      text: 'div.s64 $d, $a, $b;',
      shape: 'ddd',
      inputs: [longs, others],
      expected: (a, b) => u64(s64(a) / s64(b)),
    },
    {
      text: 'mul.lo.u16 $d, $a, $b;',
      shape: 'hhh',
      inputs: [
        [0xffffn, 3n],
        [0xffffn, 0x8001n],
      ],
      expected: (a, b) => BigInt.asUintN(16, a * b),
    },
    {
      text: 'mul.wide.s16 $d, $a, $b;',
      shape: 'whh',
      inputs: [
        [0xffffn, 3n],
        [0x8000n, 9n],
      ],
      expected: (a, b) => u32(BigInt.asIntN(16, a) * BigInt.asIntN(16, b)),
    },
  ])
})

test('bits: logic tables, shifts beyond the width, bit fields, permutations, counts', () => {
  const shifts = [0n, 1n, 31n, 32n, 63n, 64n, 200n]
  const bit = (v: bigint, k: number) => (v >> BigInt(k)) & 1n
  const table = (select: number) => (a: bigint, b: bigint, c: bigint) => {
    let out = 0n
    for (let k = 0; k < 32; k++)
      out |= BigInt((select >> Number((bit(a, k) << 2n) | (bit(b, k) << 1n) | bit(c, k))) & 1) << BigInt(k)
    return out
  }
  check([
    ...[0x96, 0xea, 0x3c, 0x01].map(select => ({
      text: `lop3.b32 $d, $a, $b, $c, ${select};`,
      shape: 'wwww',
      inputs: [words, others, words.toReversed()],
      expected: table(select),
    })),
    {
      text: 'shl.b32 $d, $a, $b;',
      shape: 'www',
      inputs: [words, shifts],
      expected: (a, b) => (b > 31n ? 0n : u32(a << b)),
    },
    {
      text: 'shr.u32 $d, $a, $b;',
      shape: 'www',
      inputs: [words, shifts],
      expected: (a, b) => (b > 31n ? 0n : a >> b),
    },
    {
      text: 'shr.s32 $d, $a, $b;',
      shape: 'www',
      inputs: [words, shifts],
      expected: (a, b) => u32(s32(a) >> (b > 31n ? 31n : b)),
    },
    {
      text: 'shl.b64 $d, $a, $b;',
      shape: 'ddw',
      inputs: [longs, shifts],
      expected: (a, b) => (b > 63n ? 0n : u64(a << b)),
    },
    {
      text: 'shf.l.wrap.b32 $d, $a, $b, $c;',
      shape: 'wwww',
      inputs: [words, others, shifts],
      expected: (a, b, c) => u32(((b << 32n) | a) >> (32n - (c & 31n))),
    },
    {
      text: 'shf.r.clamp.b32 $d, $a, $b, $c;',
      shape: 'wwww',
      inputs: [words, others, shifts],
      expected: (a, b, c) => u32(((b << 32n) | a) >> (c > 32n ? 32n : c)),
    },
    {
      text: 'prmt.b32 $d, $a, $b, $c;',
      shape: 'wwww',
      inputs: [words, others, [0x3210n, 0x7654n, 0x5140n, 0xba98n]],
      expected: (a, b, c) => {
        const all = (b << 32n) | a
        let out = 0n
        for (let k = 0n; k < 4n; k++) {
          const pick = (c >> (4n * k)) & 15n
          const byte = (all >> (8n * (pick & 7n))) & 255n
          out |= (pick & 8n ? (byte & 128n ? 255n : 0n) : byte) << (8n * k)
        }
        return out
      },
    },
    {
      text: 'bfe.u32 $d, $a, $b, 9;',
      shape: 'www',
      inputs: [words, [0n, 4n, 30n]],
      expected: (a, b) => (a >> b) & 511n,
    },
    {
      text: 'bfe.s32 $d, $a, 4, 8;',
      shape: 'ww',
      inputs: [words],
      expected: a => u32(BigInt.asIntN(8, a >> 4n)),
    },
    {
      text: 'bfi.b32 $d, $a, $b, $c, 12;',
      shape: 'wwww',
      inputs: [words, others, [0n, 5n, 20n]],
      expected: (a, b, c) => u32((b & ~(4095n << c)) | ((a & 4095n) << c)),
    },
    {
      text: 'popc.b32 $d, $a;',
      shape: 'ww',
      inputs: [words],
      expected: a => BigInt(a.toString(2).replaceAll('0', '').length),
    },
    {
      text: 'clz.b32 $d, $a;',
      shape: 'ww',
      inputs: [words],
      expected: a => BigInt(a ? 32 - a.toString(2).length : 32),
    },
    {
      text: 'brev.b32 $d, $a;',
      shape: 'ww',
      inputs: [words],
      expected: a => BigInt(`0b${[...a.toString(2).padStart(32, '0')].toReversed().join('')}`),
    },
    {
      text: 'bfind.u32 $d, $a;',
      shape: 'ww',
      inputs: [words],
      expected: a => (a ? BigInt(a.toString(2).length - 1) : 0xffffffffn),
    },
    {
      text: '{ .reg .b32 %x, %y; mov.b64 {%x, %y}, $a; mov.b64 $d, {%y, %x}; }',
      shape: 'dd',
      inputs: [longs],
      expected: a => u64((a << 32n) | (a >> 32n)),
    },
  ])
})

describe('f32 and f64', () => {
  const values = [0, -0, 1, -1, 1.5, 3.25, -7.125, 1e-40, 3e38, Infinity, -Infinity, NaN, 0.1, -1e30]
  const floats = values.map(bits32)
  const rights = [2, -0.3, 1e-3, 5e8, NaN, 0].map(bits32)
  const doubles = values.map(bits64)
  const of32 = (result: number) => (Number.isNaN(result) ? 0x7fffffffn : bits32(Math.fround(result)))
  const flush = (value: number) =>
    Math.abs(value) < 2 ** -126 ? Math.sign(value) * Number.MIN_VALUE * 0.25 : value
  const one = (text: string, f: (a: number) => number): Case => ({
    text,
    shape: 'ww',
    inputs: [floats],
    expected: a => of32(f(float32(a))),
  })
  const two = (text: string, f: (a: number, b: number) => number): Case => ({
    text,
    shape: 'www',
    inputs: [floats, rights],
    expected: (a, b) => of32(f(float32(a), float32(b))),
  })

  test('arithmetic, minimum and maximum with NaN, and flushed subnormals', () => {
    check([
      two('add.f32 $d, $a, $b;', (a, b) => a + b),
      two('mul.rn.f32 $d, $a, $b;', (a, b) => a * b),
      two('div.rn.f32 $d, $a, $b;', (a, b) => a / b),
      two('mul.ftz.f32 $d, $a, $b;', (a, b) => flush(Math.fround(flush(a) * flush(b)))),
      two('min.f32 $d, $a, $b;', (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b))),
      two('max.f32 $d, $a, $b;', (a, b) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b))),
      two('max.NaN.f32 $d, $a, $b;', Math.max),
      one('sqrt.rn.f32 $d, $a;', Math.sqrt),
      one('rcp.rn.f32 $d, $a;', a => 1 / a),
      { text: 'neg.f32 $d, $a;', shape: 'ww', inputs: [floats], expected: a => a ^ 0x80000000n },
      {
        text: 'fma.rn.f32 $d, $a, $a, $b;',
        shape: 'www',
        inputs: [[bits32(1 + 2 ** -23)], [bits32(-1 - 2 ** -22)]],
        expected: () => bits32(2 ** -46),
      },
      {
        text: 'add.rz.f32 $d, $a, $b;',
        shape: 'www',
        inputs: [
          [bits32(1), bits32(-1)],
          [bits32(2 ** -30), bits32(-(2 ** -30))],
        ],
        expected: a => a,
      },
      {
        text: 'add.rp.f32 $d, $a, $b;',
        shape: 'www',
        inputs: [[bits32(1)], [bits32(2 ** -30)]],
        expected: () => bits32(1 + 2 ** -23),
      },
      {
        text: 'fma.rn.f64 $d, $a, $b, $c;',
        shape: 'dddd',
        inputs: [doubles, [bits64(2)], [bits64(0.5)]],
        expected: a =>
          Number.isNaN(float64(a) * 2 + 0.5) ? 0x7fffffffffffffffn : bits64(float64(a) * 2 + 0.5),
      },
      {
        text: 'div.rn.f64 $d, $a, $b;',
        shape: 'ddd',
        inputs: [[1, 2, -7].map(bits64), [3, 7, 11].map(bits64)],
        expected: (a, b) => bits64(float64(a) / float64(b)),
      },
    ])
  })

  test('approximate functions are close to the exact ones', () => {
    const inputs = [0.1, 0.7, 1, 1.9, 2.5, -0.4].map(bits32)
    const cases: [string, (a: number) => number][] = [
      ['ex2.approx.ftz.f32', a => 2 ** a],
      ['lg2.approx.f32', Math.log2],
      ['sin.approx.f32', Math.sin],
      ['cos.approx.f32', Math.cos],
      ['tanh.approx.f32', Math.tanh],
      ['rsqrt.approx.f32', a => 1 / Math.sqrt(a)],
    ]
    const results = evaluate(
      card,
      cases.map(([name]) => ({ text: `${name} $d, $a;`, shape: 'ww', inputs: [inputs] })),
    )
    for (const [at, [name, f]] of cases.entries())
      for (const [lane, result] of results[at]!.entries()) {
        const expected = f(float32(inputs[lane % inputs.length]!))
        if (Number.isNaN(expected)) expect(float32(result)).toBeNaN()
        else expect(Math.abs(float32(result) - expected), name).toBeLessThan(1e-6)
      }
  })

  test('ordered comparisons with NaN are false, unordered ones true', () => {
    const pair = (text: string, f: (a: number, b: number) => boolean): Case => ({
      text,
      shape: 'pww',
      inputs: [floats, [...floats].toReversed()],
      expected: (a, b) => BigInt(f(float32(a), float32(b))),
    })
    check([
      pair('setp.lt.f32 $d, $a, $b;', (a, b) => a < b),
      pair('setp.ne.f32 $d, $a, $b;', (a, b) => a !== b && !Number.isNaN(a) && !Number.isNaN(b)),
      pair('setp.neu.f32 $d, $a, $b;', (a, b) => a !== b),
      pair('setp.geu.f32 $d, $a, $b;', (a, b) => !(a < b)),
      pair('setp.nan.f32 $d, $a, $b;', (a, b) => Number.isNaN(a + b) && (Number.isNaN(a) || Number.isNaN(b))),
      {
        text: 'setp.lt.and.s32 $d, $a, $b, !$c;',
        shape: 'pwwp',
        inputs: [words, others, [0n, 1n, 0n]],
        expected: (a, b, c) => BigInt(s32(a) < s32(b) && c === 0n),
      },
      {
        text: 'setp.hi.xor.u32 $d, $a, $b, $c;',
        shape: 'pwwp',
        inputs: [words, others, [0n, 1n, 0n]],
        expected: (a, b, c) => BigInt(a > b) ^ c,
      },
      {
        text: 'selp.b32 $d, $a, $b, $c;',
        shape: 'wwwp',
        inputs: [words, others, [0n, 1n, 1n]],
        expected: (a, b, c) => (c ? a : b),
      },
    ])
  })
})
