/**
 * The CUDA kernels that ship, compiled by nvcc and interpreted by the emulated card: every case against the
 * oracle, as `npm run judge:cuda` tries them on a card.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { createCudaEngine, findNvcc, listCardOps, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import type { OpName } from '@cairn-tune/ops'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

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

  test.each(CASES)('$op, $dtype: $name', async ({ op, inputs, attrs, dtype }) => {
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
