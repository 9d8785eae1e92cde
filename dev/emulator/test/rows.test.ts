import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, readPtx, type Card } from './card.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const numbers = (count: number) => Float32Array.from({ length: count }, (_, i) => 4 * Math.sin(i * 1.7) + 0.3)

describe('rows.cu compiled by nvcc', () => {
  const ptx = readPtx('rows.ptx')

  test.each([
    { threads: 256, n: 1000 },
    { threads: 64, n: 33 },
    { threads: 32, n: 31 },
  ])('normalises rows of $n with $threads threads', ({ threads, n }) => {
    const rows = 3
    const x = numbers(rows * n)
    const { status, message, buffers } = card.run({
      ptx,
      kernel: 'rms_norm',
      grid: [rows],
      block: [threads],
      args: [{ buffer: x }, { buffer: new Float32Array(rows * n) }, { u32: n }],
    })
    expect({ status, message }).toEqual({ status: 0, message: '' })
    const y = new Float32Array(buffers[1]!)
    for (let row = 0; row < rows; row++) {
      const of = x.subarray(row * n, (row + 1) * n)
      const scale = 1 / Math.sqrt(of.reduce((sum, v) => sum + v * v, 0) / n + 1e-5)
      of.forEach((v, i) => expect(Math.abs(y[row * n + i]! - v * scale)).toBeLessThan(1e-6))
    }
  })

  test('computes the functions of the math library, with local memory and in f64', () => {
    const n = 500
    const x = numbers(n)
    const { status, message, buffers } = card.run({
      ptx,
      kernel: 'functions',
      grid: [4],
      block: [128],
      args: [
        { buffer: x },
        { buffer: new Float32Array(n) },
        { buffer: new Uint16Array(n) },
        { buffer: new Float64Array(n) },
        { u32: n },
      ],
    })
    expect({ status, message }).toEqual({ status: 0, message: '' })
    const [y, z, d] = [
      new Float32Array(buffers[1]!),
      new Uint16Array(buffers[2]!),
      new Float64Array(buffers[3]!),
    ]
    x.forEach((v, i) => {
      const last = i % 3 === 0 ? Math.sqrt(Math.abs(v)) : 1 / (v + 10)
      const expected =
        Math.sin(v) * Math.exp(-v * v) +
        Math.log(1 + Math.abs(v)) +
        Math.abs(v) ** 1.5 +
        Math.tanh(v) +
        Math.cos(Math.fround(1e6 * v)) +
        last
      expect(Math.abs(y[i]! - expected) / Math.max(1, Math.abs(expected))).toBeLessThan(1e-6)
      const bits = new Uint32Array(Float32Array.of(v).buffer)[0]!
      expect(z[i]).toBe((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16)
      const double = Math.exp(v) + Math.trunc(i / 7) + Math.log1p(v * v)
      expect(Math.abs(d[i]! - double) / Math.max(1, double)).toBeLessThan(1e-14)
    })
  })
})
