import { expect, test } from 'vitest'
import { inferOutputs, type TensorType } from './infer.ts'

const f32 = (...shape: number[]): TensorType => ({ dtype: 'f32', shape })
const bf16 = (...shape: number[]): TensorType => ({ dtype: 'bf16', shape })
const i32 = (...shape: number[]): TensorType => ({ dtype: 'i32', shape })

test('derives the dtype and shape of an output from the inputs', () => {
  expect(inferOutputs('rms_norm', { x: bf16(7, 1024), weight: f32(1024) }, { eps: 1e-6 })).toEqual({
    y: bf16(7, 1024),
    rstd: f32(7),
  })
})

test('an error names the op, the input, the expected and the actual shape', () => {
  expect(() => inferOutputs('rms_norm', { x: f32(7, 1024), weight: f32(512) }, { eps: 1e-6 })).toThrow(
    '[rms_norm] weight must be (C)=(1024), got (512)',
  )
  expect(() => inferOutputs('embed', { table: f32(9, 4), ids: f32(3) }, { dtype: 'f32' })).toThrow(
    '[embed] ids must be i32, got f32',
  )
})

test('derives the head size from the width and the number of heads', () => {
  const inputs = { q: f32(5, 24), k: f32(5, 12), v: f32(5, 12), cu_seqlens: i32(2) }
  expect(inferOutputs('attention', inputs, { heads: 4, kv_heads: 2, scale: 1 })).toEqual({
    y: f32(5, 24),
    lse: f32(4, 5),
  })
  expect(() =>
    inferOutputs('attention', { ...inputs, k: f32(5, 14) }, { heads: 4, kv_heads: 2, scale: 1 }),
  ).toThrow('[attention] k must be (T, G*D)=(5, 12), got (5, 14)')
})

test('accepts a pair of optional inputs only together', () => {
  const attrs = { alpha: 1, arithmetic: 'f32', dtype: 'bf16' }
  const pair = { a: f32(3, 8), b: f32(5, 8) }
  expect(inferOutputs('matmul_nt', pair, attrs)).toEqual({ y: bf16(3, 5) })
  expect(inferOutputs('matmul_nt', { ...pair, a2: f32(3, 2), b2: f32(5, 2) }, attrs)).toEqual({
    y: bf16(3, 5),
  })
  expect(() => inferOutputs('matmul_nt', { ...pair, a2: f32(3, 2) }, attrs)).toThrow(
    '[matmul_nt] a2 and b2 must be given together',
  )
})

test('rejects a missing or unknown input and an invalid attribute', () => {
  expect(() => inferOutputs('add', { a: f32(2) }, {})).toThrow('[add] b is missing')
  expect(() => inferOutputs('add', { a: f32(2), b: f32(2), c: f32(2) }, {})).toThrow(
    '[add] has no input c; known: a, b',
  )
  expect(() => inferOutputs('cast', { x: f32(2) }, { dtype: 'nf4' })).toThrow(
    '[cast] dtype must be f32 or bf16, got nf4',
  )
  expect(() => inferOutputs('rms_norm', { x: f32(1, 2), weight: f32(2) }, {})).toThrow(
    '[rms_norm] eps must be a number, got nothing',
  )
})

test('requires the same shape for all inputs of an elementwise op', () => {
  expect(inferOutputs('add', { a: bf16(2, 3, 4), b: f32(2, 3, 4) }, {})).toEqual({ y: bf16(2, 3, 4) })
  expect(() => inferOutputs('add', { a: f32(2, 3), b: f32(3, 2) }, {})).toThrow(
    '[add] b must be (2, 3), got (3, 2)',
  )
})

test('rejects a quantised weight whose rows are not whole blocks', () => {
  const inputs = { a: f32(3, 40), b: { dtype: 'nvfp4', shape: [16, 40] } } as const
  expect(() => inferOutputs('matmul_nt', inputs, { alpha: 1, arithmetic: 'f32', dtype: 'f32' })).toThrow(
    '[nvfp4] needs two dimensions, the second a multiple of 16, got (16, 40)',
  )
})
