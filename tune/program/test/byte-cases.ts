/** What must be the same in every byte on a card: stored weights, and states in 8 bits after a step. */
import { DTYPES, type Attrs, type Dtype, type OpName } from '@cairn-tune/ops'
import { noise, tensor, type Values } from './one-op.ts'

export type ByteCase = { op: OpName; name: string; inputs: Values; attrs: Attrs }

const STORED = (Object.keys(DTYPES) as Dtype[]).filter(
  dtype => !['f32', 'bf16', 'i32', 'dynamic8', 'dynamic8_unsigned'].includes(dtype),
)

/** Sizes from tiny to large, a row of zeros and a block of equal numbers. */
export const WILD = tensor(
  'f32',
  [67, 320],
  noise('f32', [67, 320], 40).numbers.map((value, i) =>
    i < 320 ? 0 : i < 400 ? 0.3 : value * 2 ** ((i % 23) - 12),
  ),
)

function* casesOf(dtype: Dtype): Generator<ByteCase> {
  for (const from of ['f32', 'bf16'] as const) {
    const x = noise(from, [200, 448], 70, 0.1)
    yield { op: 'quantize', name: `${from} to ${dtype}`, inputs: { x }, attrs: { dtype } }
  }
  yield { op: 'quantize', name: `of all sizes to ${dtype}`, inputs: { x: WILD }, attrs: { dtype } }
  const x = noise(dtype, [200, 448], 71, 0.1)
  for (const to of ['f32', 'bf16'] as const)
    yield { op: 'dequantize', name: `${dtype} to ${to}`, inputs: { x }, attrs: { dtype: to } }
}

function adamw8bit(): ByteCase {
  const shape = [1000]
  return {
    op: 'adamw_8bit',
    name: 'step 7',
    inputs: {
      p: noise('f32', shape, 72),
      g: noise('f32', shape, 73),
      m: noise('dynamic8', shape, 74, 0.1),
      v: tensor('dynamic8_unsigned', shape, noise('f32', shape, 75).numbers.map(Math.abs)),
      factor: tensor('f32', [1], [0.3]),
      schedule: tensor('f32', [2], [2e-3, 7]),
    },
    attrs: { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 },
  }
}

export const BYTE_CASES: ByteCase[] = [...STORED.flatMap(dtype => [...casesOf(dtype)]), adamw8bit()]

export function countDifferent(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return Infinity
  let count = 0
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) count++
  return count
}
