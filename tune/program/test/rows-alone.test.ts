/**
 * Serving is bit-identical: a row's numbers do not depend on the other rows, whichever kernel their number
 * selects.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEngine, listIsas, type Engine } from '@cairn-tune/native'
import { byteLength, type Attrs, type Dtype, type OpName } from '@cairn-tune/ops'
import { noise, runNative, tensor, type Value } from './one-op.ts'

const isas = await listIsas()
const engines = new Map<string, Engine>()
beforeAll(async () => {
  for (const isa of isas) engines.set(isa, await createEngine({ isa, threads: 2 }))
})
afterAll(() => engines.forEach(engine => engine.close()))
const engineOf = (isa: string) => engines.get(isa) ?? expect.unreachable(isa)

/** Some rows of a matrix. */
const rowsOf = ({ dtype, shape: [, columns = 0], bytes }: Value, first: number, count: number) => {
  const size = byteLength(dtype, [1, columns])
  return bytes.subarray(first * size, (first + count) * size)
}

describe.each(isas)('%s', isa => {
  // 52 columns and a k of 330 both leave a remainder; 24 vectors of columns are several tasks.
  /** Promise T6: A row of a batch has the same bits as alone, whichever kernel computes it. */
  test.each([
    ['bf16', 'bf16', 52, 330],
    ['bf16', 'bf16', 400, 64],
    ['bf16', 'nvfp4', 52, 320],
    ['bf16', 'fp8_tiles', 52, 330],
    ['bf16', 'bf16', 52, 331],
    ['bf16', 'bf16_vnni', 52, 330],
    ['bf16', 'bf16_vnni', 400, 64],
    ['f32', 'f32', 52, 331],
  ] as [Dtype, Dtype, number, number][])(
    'rows of a product of %s with %s (%i×%i) are the same alone, in a small and in a large batch',
    async (dtype, stored, n, k) => {
      const attrs = { alpha: 1, arithmetic: dtype, dtype }
      const [a, b, addend] = [noise(dtype, [90, k], 1), noise(stored, [n, k], 2), noise(dtype, [90, n], 3)]
      const { y: all } = await runNative(engineOf(isa), 'matmul_nt', { a, b, addend }, attrs)
      for (const count of [1, 2, 3, 5, 8, 9, 17, 33, 50, 64, 65]) {
        const part = (value: Value): Value => ({
          ...value,
          shape: [count, value.shape[1] ?? 0],
          bytes: rowsOf(value, 7, count),
        })
        const { y } = await runNative(
          engineOf(isa),
          'matmul_nt',
          { a: part(a), b, addend: part(addend) },
          attrs,
        )
        expect(Buffer.compare(y!.bytes, rowsOf(all!, 7, count)), `${count} rows`).toBe(0)
      }
    },
  )

  /** Promise T6: A row's numbers do not depend on rows of other experts. */
  test.each([
    ['bf16', 'bf16'],
    ['bf16', 'bf16_vnni'],
    ['bf16', 'nvfp4'],
    ['f32', 'f32'],
  ] as [Dtype, Dtype][])(
    'a row of %s with its expert in %s is the same alone and in any batch',
    async (dtype, stored) => {
      const [n, k, rows] = [52, 320, 600]
      const attrs = { alpha: 1, arithmetic: dtype, dtype }
      const [a, b] = [noise(dtype, [rows, k], 1), noise(stored, [3, n, k], 2)]
      const ends = (...counts: number[]) => tensor('i32', [3], counts)
      const { y: all } = await runNative(
        engineOf(isa),
        'expert_matmul_nt',
        { a, b, ends: ends(5, 5, rows) },
        attrs,
      )
      for (const row of [5, 6, 260, 599]) {
        const one: Value = { ...a, shape: [1, k], bytes: rowsOf(a, row, 1) }
        const { y } = await runNative(
          engineOf(isa),
          'expert_matmul_nt',
          { a: one, b, ends: ends(0, 0, 1) },
          attrs,
        )
        expect(Buffer.compare(y!.bytes, rowsOf(all!, row, 1)), `row ${row}`).toBe(0)
      }
    },
  )

  /** Rows of a rank's experts have room for a whole micro-batch (tune/train/src/experts). */
  test.each(['bf16', 'f32'] as Dtype[])('%s rows after the last expert are ignored', async dtype => {
    const [n, k, used, rows] = [52, 330, 41, 70]
    const ends = tensor('i32', [3], [5, 5, used])
    /** NaN after the rows of the last expert. */
    const given = (columns: number, seed: number) =>
      tensor(dtype, [rows, columns], noise(dtype, [rows, columns], seed).numbers.fill(NaN, used * columns))
    const alone = (value: Value): Value => ({
      ...value,
      shape: [used, value.shape[1] ?? 0],
      bytes: rowsOf(value, 0, used),
    })
    const attrs = { alpha: 1, arithmetic: dtype, dtype }
    const cases: [OpName, Record<string, Value>, Record<string, Value>, Attrs][] = [
      ['expert_matmul_nt', { a: given(k, 1) }, { b: noise(dtype, [3, n, k], 2) }, attrs],
      ['expert_matmul_nn', { a: given(k, 1) }, { b: noise(dtype, [3, k, n], 2) }, { ...attrs, stream: 0 }],
      ['expert_matmul_tn', { a: given(k, 1), b: given(n, 3) }, {}, attrs],
      ['expert_matmul_tn', { a: given(n, 3), b: given(k, 1) }, {}, attrs],
      ['expert_bias_grad', { dy: given(n, 3) }, {}, {}],
    ]
    for (const [op, ofRows, others, attrsOfOp] of cases) {
      const engine = engineOf(isa)
      const short = Object.fromEntries(Object.entries(ofRows).map(([name, value]) => [name, alone(value)]))
      const all = await runNative(engine, op, { ...ofRows, ...others, ends }, attrsOfOp)
      const few = await runNative(engine, op, { ...short, ...others, ends }, attrsOfOp)
      for (const [name, { bytes }] of Object.entries(few)) {
        const found = all[name]?.bytes ?? new Uint8Array()
        expect(Buffer.compare(found.subarray(0, bytes.length), bytes), op).toBe(0)
        expect(
          found.subarray(bytes.length).every(byte => byte === 0),
          op,
        ).toBe(true)
      }
    }
  })

  test.each([
    ['bf16', 4, 2, 64],
    ['bf16', 2, 2, 96],
    ['bf16', 6, 1, 32],
    ['bf16', 4, 4, 40],
    ['f32', 4, 2, 64],
  ] as [Dtype, number, number, number][])(
    'a row attends to its tokens in a %s cache, alone as in a chunk (%i heads, %i key heads, width %i)',
    async (dtype, heads, kvHeads, width) => {
      const [block, blocks, tokens] = [16, 14, 213]
      const attrs = { heads, kv_heads: kvHeads, scale: width ** -0.5, block, dtype }
      const table = Array.from({ length: blocks }, (_, i) => (i * 5) % blocks)
      const empty = tensor(
        dtype,
        [blocks * block, kvHeads * width],
        new Float32Array(blocks * block * kvHeads * width).fill(NaN),
      )
      const rows = (seed: number) => noise(dtype, [tokens, kvHeads * width], seed)
      const slots = tensor(
        'i32',
        [tokens],
        Array.from({ length: tokens }, (_, key) => (table[key >> 4] ?? 0) * block + (key & 15)),
      )
      const { keys, values } = await runNative(
        engineOf(isa),
        'paged_write',
        { k_cache: empty, v_cache: empty, k: rows(5), v: rows(6), slots },
        { block, dtype },
      )
      const inputs = {
        q: noise(dtype, [tokens, heads * width], 4, 2),
        k: keys,
        v: values,
        tables: tensor('i32', [1, blocks], table),
      }
      const { y: chunk } = await runNative(
        engineOf(isa),
        'paged_attention',
        { ...inputs, spans: tensor('i32', [1, 3], [0, tokens, 0]) },
        attrs,
      )
      expect([...chunk!.numbers].every(Number.isFinite)).toBe(true)
      for (const row of [0, 1, 15, 16, 94, 95, 96, 97, 200, 212]) {
        const q: Value = { ...inputs.q, shape: [1, heads * width], bytes: rowsOf(inputs.q, row, 1) }
        const { y } = await runNative(
          engineOf(isa),
          'paged_attention',
          { ...inputs, q, spans: tensor('i32', [1, 3], [0, 1, row]) },
          attrs,
        )
        expect(Buffer.compare(y!.bytes, rowsOf(chunk!, row, 1)), `row ${row}`).toBe(0)
      }
    },
  )
})
