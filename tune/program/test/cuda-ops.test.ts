/**
 * The CUDA kernels that ship, compiled by nvcc and interpreted by the emulated card. `npm test` launches each
 * kernel with its smallest case and a sample of all cases; `npm run test:cuda` runs every case.
 */
import { describe } from 'vitest'
import { countElements, type Attrs, type OpName } from '@cairn-tune/ops'
import { RUN_ALL, everyNth } from '@cairn-tune/ops/test/sample'
import { testKernels } from './emulated-kernels.ts'
import type { Values } from './one-op.ts'

const sizeOf = (inputs: Values): number =>
  Object.values(inputs).reduce((sum, value) => sum + countElements(value?.shape ?? [0]), 0)

/** What selects the kernel that an op launches: the dtypes of its inputs, its arithmetic and its output. */
const kernelOf = ({ op, inputs, attrs }: { op: OpName; inputs: Values; attrs: Attrs }): string =>
  [op, ...Object.values(inputs).map(value => value?.dtype), attrs['arithmetic'], attrs['dtype']].join(' ')

/**
 * The smallest case of each kernel, because an interpreted launch takes time proportional to its size, and a
 * sample of all cases; or every case.
 */
function sampleOf<C extends { op: OpName; inputs: Values; attrs: Attrs }>(cases: readonly C[]): readonly C[] {
  if (RUN_ALL) return cases
  const smallest = [...Map.groupBy(cases, kernelOf).values()].map(some =>
    some.reduce((smallest, one) => (sizeOf(one.inputs) < sizeOf(smallest.inputs) ? one : smallest)),
  )
  return [...new Set([...smallest, ...everyNth(24, cases)])]
}

/** Promise T1.2: Each CUDA kernel gives the oracle's results on the emulated card. */
describe('on the emulated card', () => testKernels({ order: {}, sampleOf }))
