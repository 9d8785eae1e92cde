/**
 * Serving on a card is bit-identical, as on the processor (rows-alone.test.ts): a row's numbers do not depend
 * on the other rows, and attention of a row does not depend on how many blocks share its keys.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import { byteLength, type Dtype } from '@cairn-tune/ops'
import { noise, runNative, tensor, type Value } from './one-op.ts'
import { range } from './serving-cases.ts'

/** Some rows of a matrix. */
function rowsOf(value: Value, first: number, count: number): Value {
  const [, columns = 0] = value.shape
  const size = byteLength(value.dtype, [1, columns])
  return {
    ...value,
    shape: [count, columns],
    bytes: value.bytes.slice(first * size, (first + count) * size),
    numbers: value.numbers.slice(first * columns, (first + count) * columns),
  }
}

const isSame = (a: Value | undefined, b: Value) => a && Buffer.compare(a.bytes, b.bytes) === 0

function compareRows(): void {
  let engine: CudaEngine
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    engine = await createCudaEngine({ isRowInvariant: true })
  }, 600_000)
  afterAll(() => {
    engine.close()
    vi.unstubAllEnvs()
  })

  // Training divides the k of a few rows among blocks, but not that of 3840 rows, which are 120 tiles.
  /** Promise T6: A row of a batch has the same bits as alone on a card that serves. */
  test.each([
    ['bf16', 'bf16', 3840, 72, 1040],
    ['bf16', 'nf4', 3840, 72, 1088],
    ['f32', 'f32', 300, 40, 331],
  ] as [Dtype, Dtype, number, number, number][])(
    'rows of a product of %s with %s (%i×%i×%i)',
    async (dtype, stored, rows, n, k) => {
      // Results in f32 show the sums themselves.
      const attrs = { alpha: 1, arithmetic: dtype, dtype: 'f32' }
      const [a, b] = [noise(dtype, [rows, k], 1), noise(stored, [n, k], 2)]
      const { y: all } = await runNative(engine, 'matmul_nt', { a, b }, attrs)
      for (const count of [1, 2, 17, 65]) {
        const { y } = await runNative(engine, 'matmul_nt', { a: rowsOf(a, 7, count), b }, attrs)
        expect(isSame(y, rowsOf(all!, 7, count)), `${count} rows`).toBe(true)
      }
    },
    600_000,
  )

  test('rows of several adapters', async () => {
    const attrs = { arithmetic: 'bf16' } as const
    const fixed = {
      a: noise('bf16', [3, 5, 130], 41),
      b: noise('bf16', [3, 5, 33], 42),
      ranks: tensor('f32', [3, 2], [5, 2, 1, 0.5, 3, 1]),
    }
    const x = noise('bf16', [40, 130], 40)
    const whose = range(40, t => ((t * 5) % 4) - 1)
    const adapters = (of: number[]) => tensor('i32', [of.length], of)
    const { y: all } = await runNative(
      engine,
      'lora_delta',
      { x, ...fixed, adapters: adapters(whose) },
      attrs,
    )
    for (const [first, count] of [
      [0, 1],
      [3, 1],
      [5, 17],
    ] as const) {
      const some = { x: rowsOf(x, first, count), adapters: adapters(whose.slice(first, first + count)) }
      const { y } = await runNative(engine, 'lora_delta', { ...fixed, ...some }, attrs)
      expect(isSame(y, rowsOf(all!, first, count)), `${count} rows from ${first}`).toBe(true)
    }
  }, 600_000)

  test.each([
    ['bf16', 6, 1, 40, 0],
    ['f32', 4, 2, 20, 70],
  ] as [Dtype, number, number, number, number][])(
    'a row attends to its tokens in a %s cache, alone as in a chunk (%i heads, %i key heads, width %i)',
    async (dtype, heads, kvHeads, width, window) => {
      const [block, blocks, tokens] = [16, 68, 1080]
      const attrs = { heads, kv_heads: kvHeads, scale: width ** -0.5, block, dtype, window }
      const table = range(blocks, i => (i * 5) % blocks)
      const shape = [blocks * block, kvHeads * width]
      const empty = tensor(dtype, shape, new Float32Array(blocks * block * kvHeads * width).fill(NaN))
      const rows = (seed: number) => noise(dtype, [tokens, kvHeads * width], seed)
      const slots = tensor(
        'i32',
        [tokens],
        range(tokens, key => (table[key >> 4] ?? 0) * block + (key & 15)),
      )
      const { keys, values } = await runNative(
        engine,
        'paged_write',
        { k_cache: empty, v_cache: empty, k: rows(5), v: rows(6), slots },
        { block, dtype },
      )
      const fixed = { k: keys, v: values, tables: tensor('i32', [1, blocks], table) }
      // The last rows of a prompt, which are more than those whose keys several blocks share.
      const [first, count] = [tokens - 70, 70]
      const q = noise(dtype, [count, heads * width], 4, 2)
      const spans = (...span: number[]) => tensor('i32', [1, 3], span)
      const { y: chunk } = await runNative(
        engine,
        'paged_attention',
        { ...fixed, q, spans: spans(0, count, first) },
        attrs,
      )
      expect([...chunk!.numbers].every(Number.isFinite)).toBe(true)
      for (const row of [0, 1, 13, 14, 15, 69]) {
        const { y } = await runNative(
          engine,
          'paged_attention',
          { ...fixed, q: rowsOf(q, row, 1), spans: spans(0, 1, first + row) },
          attrs,
        )
        expect(isSame(y, rowsOf(chunk!, row, 1)), `row ${row}`).toBe(true)
      }
    },
    600_000,
  )
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', compareRows)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
