/** Kernels give the same result if asynchronous copies complete at once instead of at their wait. */
import { everyNth } from '@cairn-tune/ops/test/sample'
import { describeKernels } from './emulated-kernels.ts'

describeKernels('with copies that complete at once', {
  order: { CAIRN_EMULATOR_COPIES: 'at-once' },
  sampleOf: cases => everyNth(48, cases, 24),
})
