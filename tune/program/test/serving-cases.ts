/** What the kernels of serving are tried on. */
import type { Dtype } from '@cairn-tune/ops'
import type { Case } from './cases.ts'
import { noise, tensor } from './one-op.ts'

export const range = (count: number, value: (i: number) => number) =>
  Array.from({ length: count }, (_, i) => value(i))

/** Rows of a cache out of order, spans with and without keys before them, rows of no span. */
export function* paged(dtype: Dtype): Generator<Case> {
  const slots = tensor('i32', [6], [3, -1, 0, 9, 1, -1])
  for (const from of ['f32', 'bf16'] as const) {
    const inputs = {
      k_cache: noise(dtype, [48, 38], 34),
      v_cache: noise(dtype, [48, 38], 44),
      k: noise(from, [6, 38], 35),
      v: noise(from, [6, 38], 45),
      slots: tensor('i32', [6], [35, -1, 0, 9, 1, -1]),
    }
    yield {
      op: 'paged_write',
      name: `of ${from}`,
      inputs,
      attrs: { block: 16, dtype },
      dtype: from === 'f32' ? dtype : 'bf16',
    }
  }
  yield {
    op: 'gather_rows',
    name: 'odd',
    inputs: { x: noise(dtype, [11, 37], 36), rows: slots },
    attrs: {},
    dtype,
  }
  const block = 16
  for (const [spans, heads, kvHeads, width] of [
    [
      [
        [0, 1, 0],
        [1, 1, 40],
        [2, 7, 130],
      ],
      4,
      2,
      32,
    ],
    [
      [
        [1, 70, 0],
        [0, 1, 299],
        [0, 0, 0],
      ],
      2,
      1,
      20,
    ],
    [[[3, 33, 17]], 1, 1, 64],
  ] as const) {
    const tokens = spans.reduce((max, [first, rows]) => Math.max(max, first + rows), 0) + 2
    const blocks = 19
    const cacheRows = blocks * block * spans.length
    const inputs = {
      q: noise(dtype, [tokens, heads * width], 37, 2),
      k: noise(dtype, [cacheRows, kvHeads * width], 38, 2),
      v: noise(dtype, [cacheRows, kvHeads * width], 39),
      tables: tensor(
        'i32',
        [spans.length, blocks],
        range(spans.length * blocks, i => (i * 7) % (blocks * spans.length)),
      ),
      spans: tensor('i32', [spans.length, 3], spans.flat()),
    }
    for (const [window, hasSinks, softcap = 0] of [
      [0, false],
      [0, true],
      [20, false],
      [100, true],
      [20, false, 1.5],
    ] as const)
      yield {
        op: 'paged_attention',
        name:
          `${spans.join('|')} ` +
          `${heads}/${kvHeads}·${width}${window ? ` window ${window}` : ''}${hasSinks ? ' sinks' : ''}` +
          (softcap ? ` capped at ${softcap}` : ''),
        inputs: { ...inputs, sinks: hasSinks ? noise(dtype, [heads], 49, 3) : undefined },
        attrs: { heads, kv_heads: kvHeads, scale: width ** -0.5, block, dtype, window, softcap },
        dtype,
      }
  }
}

export function* loras(dtype: Dtype): Generator<Case> {
  for (const [rows, k, n, hasAddend] of [
    [13, 50, 33, true],
    [3, 130, 1050, false],
  ] as const) {
    const inputs = {
      x: noise(dtype, [rows, k], 40),
      a: noise(dtype, [3, 5, k], 41),
      b: noise(dtype, [3, 5, n], 42),
      adapters: tensor(
        'i32',
        [rows],
        range(rows, t => ((t * 5) % 4) - 1),
      ),
      ranks: tensor('f32', [3, 2], [5, 2, 1, 0.5, 3, 1]),
      addend: hasAddend ? noise(dtype, [rows, n], 43) : undefined,
    }
    yield { op: 'lora_delta', name: `${rows}×${n}×${k}`, inputs, attrs: { arithmetic: dtype }, dtype }
  }
}

export function* samples(): Generator<Case> {
  const [rows, vocab] = [7, 1003]
  const choice = [
    [0, 1, 0],
    [0, 1, 0],
    [1, 1, 0],
    [0.7, 0.9, 0],
    [1.5, 1, 0.2],
    [0.5, 1, 0],
    [0, 1, 0],
  ]
  const inputs = {
    logits: noise('f32', [rows, vocab], 44, 6),
    forced: tensor('i32', [rows], [-1, -1, -1, -1, -1, -1, 77]),
    choice: tensor('f32', [rows, 3], choice.flat()),
    draw: tensor(
      'i32',
      [rows, 4],
      range(rows * 4, i => (i % 4 === 0 ? (i === 20 ? 5 : 0) : i * 7919)),
    ),
    edits: tensor('i32', [4, 2], [1, 3, -1, 0, 2, 9, 1, 500]),
    edit_by: tensor('f32', [4, 2], [1.5, 100, 1, 0, 1, -100, 2, 0.5]),
  }
  const words = Math.ceil(vocab / 32)
  // Half of the tokens, few of them, and one.
  const mask = tensor(
    'i32',
    [3, words],
    range(3 * words, i =>
      i < words ? 0x55555555 : i < 2 * words ? (i % 7 === 0 ? 1 << 31 : 0) : i === 2 * words + 9 ? 8 : 0,
    ),
  )
  const masks = {
    'without masks': [-1, -1, -1, -1, -1, -1, -1],
    'some rows with masks': [0, -1, 1, 0, 2, -1, 0],
  }
  for (const [name, masked] of Object.entries(masks))
    for (const top of [1, 21])
      yield {
        op: 'sample',
        name: `top ${top}, ${name}`,
        inputs: { ...inputs, masked: tensor('i32', [rows], masked), mask },
        attrs: { top },
        dtype: 'f32',
      }
}
