/**
 * Kernels whose warps read and write the same global memory give the same in any order of warps: the emulated
 * card sees races in shared memory by themselves, those in global memory only by what comes out. Its order is
 * drawn once a process, so these are in a file of their own. `npm test` tries one case of each op.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { onePerKind } from '@cairn-tune/ops/test/sample'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import { losses, tokenLogps } from './head-cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

const CASES = (['f32', 'bf16'] as const).flatMap(dtype => [...losses(dtype), ...tokenLogps(dtype)])

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('with warps in an order drawn by seed', () => {
    let engine: CudaEngine
    beforeAll(async () => {
      vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
      vi.stubEnv('CAIRN_EMULATOR_SEED', '1')
      engine = await createCudaEngine()
    }, 600_000)
    afterAll(() => {
      engine.close()
      vi.unstubAllEnvs()
    })

    test.each(onePerKind(CASES, ({ op }) => op))(
      '$op, $dtype: $name',
      async ({ op, inputs, attrs, dtype }) => {
        const expected = runOracle(op, inputs, attrs)
        for (const [name, { numbers }] of Object.entries(await runNative(engine, op, inputs, attrs)))
          expect(relativeError(numbers, expected[name] ?? []), name).toBeLessThanOrEqual(
            TOLERANCE[dtype] ?? 0,
          )
      },
    )
  })
} else {
  test('without nvcc there are no kernels whose order could be drawn', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('needs nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
