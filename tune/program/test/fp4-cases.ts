/**
 * The cases of products of NVFP4 operands. They leave a rest of a tile and of a step in every direction, go
 * round the buffers of the kernel more than once, and have a second pair.
 */
import type { Case } from './cases.ts'
import { wild } from './fp8-cases.ts'
import { draw, noise, tensor, type Value } from './one-op.ts'

/** m, n, k, and the rank of the second pair. */
const SHAPES = [
  [1, 16, 64, 0],
  [33, 40, 192, 0],
  [129, 144, 320, 3],
  [70, 261, 128, 16],
  [200, 48, 1216, 70],
  [8, 24, 4160, 0],
] as const

/** A weight whose blocks of 16 have scales that differ by powers of two, with a block of zeros. */
function weight(rows: number, columns: number, seed: number): Value {
  const values = draw(seed, rows * columns).map((value, i) => {
    const block = Math.floor(i / 16)
    return block === 3 ? 0 : (2 * value - 1) * 2 ** ((block * 3) % 7)
  })
  return tensor('nvfp4', [rows, columns], values)
}

const attrs = { alpha: 0.5, arithmetic: 'nvfp4', dtype: 'f32' } as const

function forward(m: number, n: number, k: number, r: number): Case {
  const pair = (shape: [number, number]) => (r ? noise('bf16', shape, 52) : undefined)
  return {
    op: 'matmul_nt',
    name: `${m}×${n}×${k}${r ? `+${r}` : ''}`,
    inputs: {
      a: noise(r ? 'bf16' : 'f32', [m, k], 53, 3),
      b: weight(n, k, 55),
      a2: pair([m, r]),
      b2: pair([n, r]),
      addend: r ? noise('bf16', [m, n], 50) : undefined,
      bias: r ? noise('f32', [n], 51) : undefined,
      a_amax: tensor('f32', [1], [2.5]),
    },
    attrs,
    dtype: 'f32',
  }
}

export const FP4_CASES: Case[] = SHAPES.map(([m, n, k, r]) => forward(m, n, k, r))

/** Products that no card multiplies in FP4: rows of other lengths, and gradients towards the input. */
export const BF16_CASES: Case[] = [
  forward(33, 40, 176, 0),
  {
    op: 'matmul_nn',
    name: '33×64×192',
    inputs: {
      a: noise('bf16', [33, 192], 54),
      b: weight(192, 64, 56),
      a_amax: tensor('f32', [1], [1]),
      random: tensor('i32', [3], [11, 12, 13]),
    },
    attrs: { ...attrs, stream: 9 },
    dtype: 'f32',
  },
]

const SIDE = 192

/** The identity: a product with it is the rounded left operand, so the bytes of the result show its codes. */
const identity = tensor(
  'nvfp4',
  [SIDE, SIDE],
  Float32Array.from({ length: SIDE * SIDE }, (_, i) => Number(i % (SIDE + 1) === 0)),
)

/** Codes times scales of an activation, for three scales of its tensor. */
export const CODE_CASES = [0, 448, 3e-5].map(amax => ({
  op: 'matmul_nt' as const,
  name: `amax ${amax}`,
  inputs: { a: wild(130, SIDE), b: identity, a_amax: tensor('f32', [1], [amax]) },
  attrs: { ...attrs, alpha: 1 },
}))
