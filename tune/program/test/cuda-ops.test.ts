/**
 * The CUDA kernels that ship, compiled by nvcc and interpreted by the emulated card: of every op with a
 * launcher the smallest case a dtype, against the oracle. All cases, on a card or emulated, are those of
 * `npm run judge:cuda`.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { createCudaEngine, findNvcc, listCardOps, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import type { OpName } from '@cairn-tune/ops'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

type Case = (typeof CASES)[number]

const sizeOf = ({ inputs }: Case) =>
  Object.values(inputs).reduce((sum, value) => sum + (value?.numbers.length ?? 0), 0)

const smallest = new Map<string, Case>()
for (const one of CASES) {
  const key = `${one.op} ${one.dtype}`
  const known = smallest.get(key)
  if (known === undefined || sizeOf(one) < sizeOf(known)) smallest.set(key, one)
}

function interpretKernels(): void {
  let engine: CudaEngine
  let ops: ReadonlySet<OpName>
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    engine = await createCudaEngine()
    ops = new Set(await listCardOps())
  }, 600_000)
  afterAll(() => {
    engine.close()
    vi.unstubAllEnvs()
  })

  test.each([...smallest])('%s', async (_, { op, inputs, attrs, dtype }) => {
    if (!ops.has(op)) {
      await expect(runNative(engine, op, inputs, attrs)).rejects.toThrow(op)
      return
    }
    const [outputs, expected] = [await runNative(engine, op, inputs, attrs), runOracle(op, inputs, attrs)]
    for (const [name, { numbers }] of Object.entries(outputs))
      expect(relativeError(numbers, expected[name] ?? []), name).toBeLessThanOrEqual(TOLERANCE[dtype] ?? 0)
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', interpretKernels)
} else {
  test('without nvcc there are no kernels to interpret, and the engine says so', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('compiled by nvcc, and none was found')
    vi.unstubAllEnvs()
  }, 600_000)
}
