/**
 * The CUDA kernels that ship, compiled by nvcc and interpreted by the emulated card: every case against the
 * oracle, and bytes against the processor's, as `npm run judge:cuda` tries them on a card.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import {
  createCudaEngine,
  createEngine,
  findNvcc,
  listCardOps,
  nvccCandidates,
  type CudaEngine,
  type Engine,
} from '@cairn-tune/native'
import type { OpName } from '@cairn-tune/ops'
import { BYTE_CASES, countDifferent } from './byte-cases.ts'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

function interpretKernels(): void {
  let engine: CudaEngine
  let cpu: Engine
  let ops: ReadonlySet<OpName>
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    engine = await createCudaEngine()
    cpu = await createEngine({ threads: 1 })
    ops = new Set(await listCardOps())
  }, 600_000)
  afterAll(() => {
    engine.close()
    cpu.close()
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

  test.each(BYTE_CASES)('$op, in every byte: $name', async ({ op, inputs, attrs }) => {
    const [own, other] = [await runNative(engine, op, inputs, attrs), await runNative(cpu, op, inputs, attrs)]
    for (const [name, { bytes }] of Object.entries(own))
      expect(countDifferent(bytes, other[name]?.bytes ?? new Uint8Array()), name).toBe(0)
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
