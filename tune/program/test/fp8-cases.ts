/**
 * The cases of products of fp8 operands. They leave a rest of a tile and of a step in every direction, and
 * have odd and even numbers of steps, sums that several blocks share, and a second pair.
 */
import type { Case } from './cases.ts'
import { draw, noise, tensor, type Value } from './one-op.ts'

export const FP8_STORED = ['fp8_tensor', 'fp8_tiles'] as const
type Stored = (typeof FP8_STORED)[number]

/** m, n, k, and the rank of the second pair. */
const SHAPES = [
  [1, 16, 16, 0],
  [33, 96, 112, 0],
  [129, 144, 272, 3],
  [70, 272, 528, 16],
  [8, 48, 4112, 70],
] as const

/** A weight whose neighbouring tiles of 128×128 have scales that differ by powers of two. */
function weight(stored: Stored, rows: number, columns: number, seed: number): Value {
  const values = draw(seed, rows * columns).map((value, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns]
    return (2 * value - 1) * 2 ** ((3 * Math.floor(row / 128) + 5 * Math.floor(column / 128)) % 7)
  })
  return tensor(stored, [rows, columns], values)
}

const attrs = { alpha: 0.5, arithmetic: 'fp8_hybrid', dtype: 'f32' } as const

function* productsOf(stored: Stored): Generator<Case> {
  for (const [m, n, k, r] of SHAPES) {
    const name = `${stored} ${m}×${n}×${k}${r ? `+${r}` : ''}`
    const pair = (shape: [number, number]) => (r ? noise('bf16', shape, 52) : undefined)
    yield {
      op: 'matmul_nt',
      name,
      inputs: {
        a: noise('bf16', [m, k], 53, 3),
        b: weight(stored, n, k, 55),
        a2: pair([m, r]),
        b2: pair([n, r]),
        addend: r ? noise('bf16', [m, n], 50) : undefined,
        bias: r ? noise('f32', [n], 51) : undefined,
        a_amax: tensor('f32', [1], [2.5]),
      },
      attrs,
      dtype: 'f32',
    }
    // Rows of codes are padded if k is odd.
    const length = k + 1
    yield {
      op: 'matmul_nn',
      name: `${stored} ${m}×${n}×${length}${r ? `+${r}` : ''}`,
      inputs: {
        a: noise(r ? 'bf16' : 'f32', [m, length], 54, 1.25),
        b: weight(stored, length, n, 56),
        a2: pair([m, r]),
        b2: pair([r, n]),
        addend: r ? noise('f32', [m, n], 57) : undefined,
        a_amax: tensor('f32', [1], [1]),
      },
      attrs: { ...attrs, stream: 9 },
      dtype: 'f32',
    }
  }
}

export const FP8_CASES: (Case & { stored: Stored })[] = FP8_STORED.flatMap(stored =>
  [...productsOf(stored)].map(one => ({ ...one, stored })),
)

/** Numbers of all sizes, halfway between two of both formats, too large and not finite. */
export const wild = (rows: number, columns: number): Value =>
  tensor(
    'f32',
    [rows, columns],
    draw(60, rows * columns).map((value, i) => {
      const special = [0, -0, 1.0625, -1.1875, 1.125, 1.375, 2 ** -10, 3 * 2 ** -10, 449, 1e30, -Infinity]
      return i < special.length ? (special[i] ?? 0) : (2 * value - 1) * 2 ** ((i % 40) - 30)
    }),
  )

const SIDE = 144

/** The identity: a product with it is the rounded left operand, so the bytes of the result show its codes. */
const identity = tensor(
  'fp8_tensor',
  [SIDE, SIDE],
  Float32Array.from({ length: SIDE * SIDE }, (_, i) => Number(i % (SIDE + 1) === 0)),
)

/** Codes of an activation and of a gradient, for three scales. */
export const CODE_CASES = (['matmul_nt', 'matmul_nn'] as const).flatMap(op =>
  [0, 448, 3e-5].map(amax => ({
    op,
    name: `${op}, amax ${amax}`,
    inputs: { a: wild(130, SIDE), b: identity, a_amax: tensor('f32', [1], [amax]) },
    attrs: { ...attrs, alpha: 1, ...(op === 'matmul_nn' && { stream: 0 }) },
  })),
)
