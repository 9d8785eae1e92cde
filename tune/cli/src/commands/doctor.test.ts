import { expect, test } from 'vitest'
import { productsText } from './doctor.ts'

test('doctor names the formats in which a card multiplies, and the arithmetics that run in bf16', () => {
  const inBf16 = 'bf16; fp8-hybrid: accuracy of FP8, speed of bf16; nvfp4: accuracy of NVFP4, speed of bf16'
  expect(productsText({ multipliesFp8: true }, true)).toBe(
    'bf16, and fp8 with an fp8 base; nvfp4: accuracy of NVFP4, speed of bf16',
  )
  // CAIRN_TUNE_CUDA_FP8=bf16
  expect(productsText({ multipliesFp8: true }, false)).toBe(inBf16)
  expect(productsText({ multipliesFp8: false }, true)).toBe(inBf16)
})
