/** What the kernels of adapters, beside their products, are tried on. */
import type { Dtype } from '@cairn-tune/ops'
import type { Case } from './cases.ts'
import { noise, tensor } from './one-op.ts'
import { range } from './serving-cases.ts'

const f32 = (values: number[], shape = [values.length]) => tensor('f32', shape, values)

export function* adapters(dtype: Dtype): Generator<Case> {
  const random = tensor('i32', [3], [-7, 1, 12])
  // More than a task's elements, an end within a group of four numbers, and three dimensions.
  for (const shape of [[17_001], [3, 5, 7]])
    yield {
      op: 'dropout',
      name: shape.join('×'),
      inputs: { x: noise(dtype, shape, 71, 2), random },
      attrs: { rate: 0.3, stream: -9 },
      dtype,
    }
  for (const [rows, columns, rank] of [
    [33, 31, 0],
    [5, 130, 3],
    [40, 64, 16],
    // One row, a width beyond a block's threads, and a rank beyond those that a block keeps.
    [1, 300, 70],
  ] as const) {
    const weight = noise(dtype, [rows, columns], 72)
    const pair = rank > 0 ? { a: noise(dtype, [rank, columns], 73), b: noise(dtype, [rows, rank], 74) } : {}
    yield {
      op: 'row_norms',
      name: `${rows}×${columns}, rank ${rank}`,
      inputs: { weight, ...pair },
      attrs: { alpha: 0.5 },
      // Lengths are f32 whatever they are of.
      dtype: 'f32',
    }
  }
  for (const stored of dtype === 'f32' ? (['fp8_tiles', 'nvfp4', 'nf4', 'bf16_vnni'] as const) : [])
    yield {
      op: 'row_norms',
      name: `of ${stored}`,
      inputs: { weight: noise(stored, [51, 192], 72) },
      attrs: { alpha: 1 },
      dtype: 'f32',
    }
  for (const [rows, columns, isPlain] of [
    [33, 31, true],
    [17, 200, false],
    [1, 8, false],
    // Several blocks of rows and of columns, and several spans of a gradient.
    [150, 1040, true],
  ] as const) {
    const x = noise(dtype, [rows, columns], 75, 2)
    const added = isPlain
      ? {}
      : { bias: noise(dtype, [columns], 76), addend: noise(dtype, [rows, columns], 77) }
    const name = `${rows}×${columns}${isPlain ? '' : ' with bias and addend'}`
    const norms = f32(range(columns, i => 1 + (i % 5)))
    const scale = { x, weight: noise('f32', [columns], 78), norms }
    yield { op: 'scale_columns', name, inputs: { ...scale, ...added }, attrs: {}, dtype }
    yield {
      op: 'scale_columns_weight_grad',
      name,
      inputs: { dy: noise(dtype, [rows, columns], 79), x, norms },
      attrs: {},
      dtype: 'f32',
    }
    const whose = tensor(
      'i32',
      [rows],
      range(rows, t => (t % 4) - 1),
    )
    const inputs = {
      x: noise('f32', [rows, columns], 75, 2),
      delta: noise('f32', [rows, columns], 81),
      factors: noise('f32', [3, columns], 80),
      adapters: whose,
      ...added,
    }
    yield { op: 'adapter_columns', name, inputs, attrs: { dtype }, dtype }
  }
}
