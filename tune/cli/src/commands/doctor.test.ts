import { expect, test } from 'vitest'
import { productsText } from './doctor.ts'

test('doctor names the formats in which a card multiplies, and the arithmetics that run in bf16', () => {
  const inBf16 = 'bf16; fp8-hybrid: accuracy of FP8, speed of bf16; nvfp4: accuracy of NVFP4, speed of bf16'
  const all = { fp8: true, fp4: true }
  const hopper = { multipliesFp8: true, multipliesFp4: false }
  const blackwell = { multipliesFp8: false, multipliesFp4: true }
  expect(productsText(hopper, all)).toBe(
    'bf16, and fp8 with an fp8 base; nvfp4: accuracy of NVFP4, speed of bf16',
  )
  expect(productsText(blackwell, all)).toBe(
    'bf16, and fp4 forward with an nvfp4 base; fp8-hybrid: accuracy of FP8, speed of bf16',
  )
  // CAIRN_TUNE_CUDA_FP8=bf16, and CAIRN_TUNE_CUDA_FP4=bf16
  expect(productsText(hopper, { ...all, fp8: false })).toBe(inBf16)
  expect(productsText(blackwell, { ...all, fp4: false })).toBe(inBf16)
  expect(productsText({ multipliesFp8: false, multipliesFp4: false }, all)).toBe(inBf16)
})
