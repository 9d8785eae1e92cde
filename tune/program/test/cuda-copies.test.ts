/** Kernels give the same result if asynchronous copies complete at once instead of at their wait. */
import { describe } from 'vitest'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { testKernels } from './emulated-kernels.ts'

describe('with copies that complete at once', () =>
  testKernels({
    order: { CAIRN_EMULATOR_COPIES: 'at-once' },
    sampleOf: cases => everyNth(48, cases, 24),
  }))
