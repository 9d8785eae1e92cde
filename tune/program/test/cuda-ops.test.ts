/**
 * The CUDA kernels that ship, compiled by nvcc and interpreted by the emulated card: values against the
 * oracle and bytes against the processor's, as `npm run dev -- interop:cuda` does on a card. `npm test`
 * launches each kernel with its smallest case and a sample of all cases; `npm run test:cuda` runs every case.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import {
  createCudaEngine,
  createEngine,
  findNvcc,
  nvccCandidates,
  type CudaEngine,
  type Engine,
} from '@cairn-tune/native'
import { countElements, type Attrs, type OpName } from '@cairn-tune/ops'
import { RUN_ALL, everyNth } from '@cairn-tune/ops/test/sample'
import { BYTE_CASES, countDifferent } from './byte-cases.ts'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE, type Values } from './one-op.ts'

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

function interpretKernels(): void {
  let engine: CudaEngine
  let cpu: Engine
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    engine = await createCudaEngine()
    cpu = await createEngine({ threads: 1 })
  }, 600_000)
  afterAll(() => {
    engine.close()
    cpu.close()
    vi.unstubAllEnvs()
  })

  test.each(sampleOf(CASES))('$op, $dtype: $name', async ({ op, inputs, attrs, dtype }) => {
    const [outputs, expected] = [await runNative(engine, op, inputs, attrs), runOracle(op, inputs, attrs)]
    for (const [name, { numbers }] of Object.entries(outputs))
      expect(relativeError(numbers, expected[name] ?? []), name).toBeLessThanOrEqual(TOLERANCE[dtype] ?? 0)
  })

  test.each(sampleOf(BYTE_CASES))('$op, byte for byte: $name', async ({ op, inputs, attrs }) => {
    const [own, other] = [await runNative(engine, op, inputs, attrs), await runNative(cpu, op, inputs, attrs)]
    for (const [name, { bytes }] of Object.entries(own))
      expect(countDifferent(bytes, other[name]?.bytes ?? new Uint8Array()), name).toBe(0)
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  /** Promise T1.2: Each CUDA kernel gives the oracle's results on the emulated card. */
  describe('on the emulated card', interpretKernels)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
