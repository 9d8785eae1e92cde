/**
 * Every case of every op on the emulated card: values against the oracle and bytes against the processor's,
 * as `npm run dev -- interop:cuda` does on a card. Each order in which the card runs warps and completes
 * copies has its own test file.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { buildEmulator, type Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import {
  createCudaEngine,
  createEngine,
  findNvcc,
  nvccCandidates,
  type CudaEngine,
  type Engine,
} from '@cairn-tune/native'
import { BYTE_CASES, countDifferent } from './byte-cases.ts'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

type Case = (typeof CASES)[number] | (typeof BYTE_CASES)[number]
/** Which cases run; `order` is the emulator's variables. */
type Options = {
  order: Settings
  sampleOf: <C extends Case>(cases: readonly C[]) => readonly C[]
}

/** Without nvcc it tests that the engine says so. */
export function testKernels(options: Options): void {
  if (findNvcc(nvccCandidates(process.env)) !== undefined) return interpretKernels(options)
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}

function interpretKernels({ order, sampleOf }: Options): void {
  let engine: CudaEngine
  let cpu: Engine
  beforeAll(async () => {
    await stubEmulator(order)
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
