/**
 * Kernels whose warps read and write the same global memory give the same result in any order of warps: the
 * emulated card detects races in shared memory, but races in global memory show only in the results. `npm
 * test` runs a sample, with each op of the head, whose blocks share sums.
 */
import { describe } from 'vitest'
import { everyNth, onePerKind } from '@cairn-tune/ops/test/sample'
import { testKernels } from './emulated-kernels.ts'

const OF_HEAD = /loss|logps/

describe('with a seeded random order of warps', () =>
  testKernels({
    order: { CAIRN_EMULATOR_SEED: '1' },
    sampleOf: cases => [
      ...new Set([
        ...onePerKind(
          cases.filter(({ op }) => OF_HEAD.test(op)),
          ({ op }) => op,
        ),
        ...everyNth(48, cases),
      ]),
    ],
  }))
