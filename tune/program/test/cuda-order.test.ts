/**
 * Kernels whose warps read and write the same global memory give the same result in any order of warps: the
 * emulated card detects races in shared memory, but races in global memory show only in the results. The
 * order is drawn once per process, so these tests have their own file. `npm test` runs one case of each op.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { onePerKind } from '@cairn-tune/ops/test/sample'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import { losses, tokenLogps } from './head-cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

const CASES = (['f32', 'bf16'] as const).flatMap(dtype => [...losses(dtype), ...tokenLogps(dtype)])

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('with a seeded random order of warps', () => {
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
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
