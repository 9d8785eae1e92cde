/**
 * Products of NVFP4 operands on emulated cards: in FP4 on a card of compute capability 12.0, and in bf16 on
 * other cards.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
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
import { everyNth } from '@cairn-tune/ops/test/sample'
import { countDifferent } from './byte-cases.ts'
import { BF16_CASES, CODE_CASES, FP4_CASES } from './fp4-cases.ts'
import { TOLERANCE, kernelsOf, relativeError, runNative, runOracle } from './one-op.ts'

type Card = {
  settings: Settings
  /** CAIRN_TUNE_CUDA_FP4 */ products?: 'fp4' | 'bf16'
  kernels?: 'classic'
  multiplies: 'fp4' | 'bf16'
  isSampled?: boolean
}

const CAPABILITY_12 = { CAIRN_EMULATOR_CAPABILITY: '120' }
const CARDS: Record<string, Card> = {
  'fp4, warps in turn': { settings: CAPABILITY_12, multiplies: 'fp4', isSampled: false },
  'fp4, warps in a drawn order': {
    settings: { ...CAPABILITY_12, CAIRN_EMULATOR_SEED: '1' },
    multiplies: 'fp4',
    isSampled: false,
  },
  'fp4, copies at once': {
    settings: { ...CAPABILITY_12, CAIRN_EMULATOR_COPIES: 'at-once' },
    multiplies: 'fp4',
    isSampled: false,
  },
  'bf16 by CAIRN_TUNE_CUDA_FP4': { settings: CAPABILITY_12, products: 'bf16', multiplies: 'bf16' },
  'bf16 by CAIRN_TUNE_KERNELS': { settings: CAPABILITY_12, kernels: 'classic', multiplies: 'bf16' },
  'bf16, capability 9.0': { settings: { CAIRN_EMULATOR_CAPABILITY: '90' }, multiplies: 'bf16' },
  'bf16, capability 8.0': { settings: {}, multiplies: 'bf16' },
}

const IN_BF16 = /^matmul_n[tn]_nvfp4_(64|128)$/

/** Bytes of the first order, by case. */
const first = new Map<string, Uint8Array>()

function compareOn({ settings, products = 'fp4', kernels, multiplies, isSampled = true }: Card): void {
  let engine: CudaEngine
  let cpu: Engine
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_FP4', products)
    await stubEmulator(settings)
    engine = await createCudaEngine(kernels && { kernels })
    cpu = await createEngine({ threads: 1 })
  }, 600_000)
  afterAll(() => {
    engine.close()
    cpu.close()
    vi.unstubAllEnvs()
  })

  const all = [
    ...FP4_CASES.map(one => ({ ...one, kernel: multiplies === 'fp4' ? /^fp4_nt_128$/ : IN_BF16 })),
    ...BF16_CASES.map(one => ({ ...one, kernel: IN_BF16 })),
  ]
  test.each(isSampled ? everyNth(4, all) : all)(
    '$op: $name',
    async ({ op, name, inputs, attrs, kernel }) => {
      expect(kernelsOf(engine, op, inputs, attrs)).toContainEqual(expect.stringMatching(kernel))
      const { y } = await runNative(engine, op, inputs, attrs)
      const error = relativeError(y?.numbers ?? [], runOracle(op, inputs, attrs)['y'] ?? [])
      // Numbers of both operands are exact in FP4 and in bf16.
      expect(error).toBeLessThanOrEqual(TOLERANCE.f32 ?? 0)
      const key = `${kernel} ${op} ${name}`
      const bytes = first.get(key) ?? y?.bytes ?? new Uint8Array()
      first.set(key, bytes)
      if (!isSampled) expect(countDifferent(y?.bytes ?? new Uint8Array(), bytes)).toBe(0)
    },
    120_000,
  )

  test.each(isSampled ? everyNth(3, CODE_CASES) : CODE_CASES)(
    'codes and scales as on the processor: $name',
    async ({ op, inputs, attrs }) => {
      const [own, other] = [
        await runNative(engine, op, inputs, attrs),
        await runNative(cpu, op, inputs, attrs),
      ]
      expect(countDifferent(own['y']?.bytes ?? new Uint8Array(), other['y']?.bytes ?? new Uint8Array())).toBe(
        0,
      )
    },
  )
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  /** Promise T1.2: Products of NVFP4 operands give the oracle's results on the emulated card. */
  describe.each(Object.entries(CARDS))('on the emulated card: %s', (_, card) => compareOn(card))

  test('another value of CAIRN_TUNE_CUDA_FP4 is an error', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    vi.stubEnv('CAIRN_TUNE_CUDA_FP4', 'fp8')
    await expect(createCudaEngine()).rejects.toThrow(
      'Invalid CAIRN_TUNE_CUDA_FP4 "fp8": must be fp4 or bf16.',
    )
    vi.unstubAllEnvs()
  }, 600_000)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
