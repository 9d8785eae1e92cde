/**
 * Products of fp8 operands on emulated cards: in fp8 on a card of compute capability 9.0, with sums of f32
 * and of the 14 bits that tensor cores are said to keep, and in bf16 on other cards. `npm test` runs every
 * case in one order of warps and copies, and a sample in the others; `npm run test:cuda` runs every case in
 * each.
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
import { flatten } from '../src/flatten.ts'
import { planMemory } from '../src/plan.ts'
import { createRecorder } from '../src/record.ts'
import { countDifferent } from './byte-cases.ts'
import { CODE_CASES, FP8_CASES } from './fp8-cases.ts'
import { relativeError, runNative, runOracle } from './one-op.ts'

/**
 * How far a result may be from the oracle's, relative to its largest number. Codes are exact, so that of f32
 * is the error of the sums alone. With 14 bits, each instruction drops less than 2⁻¹³ of its largest term
 * from each of its 33 terms. A weight in tiles, decoded to bf16, loses up to 2⁻⁹ of each number.
 */
const TOLERANCES = { f32: 4e-6, cut: 2 ** -11, decoded: 2 ** -9 }

type Card = {
  settings: Settings
  tolerances: { fp8_tensor: number; fp8_tiles: number }
  /** CAIRN_TUNE_CUDA_FP8 */
  products: 'fp8' | 'bf16'
  isSampled?: boolean
  kernels: RegExp
}

const inFp8 = (settings: Settings): Card => {
  const tolerance = settings.CAIRN_EMULATOR_FP8_SUMS === '14' ? TOLERANCES.cut : TOLERANCES.f32
  return {
    settings: { CAIRN_EMULATOR_CAPABILITY: '90', ...settings },
    tolerances: { fp8_tensor: tolerance, fp8_tiles: tolerance },
    products: 'fp8',
    kernels: /^fp8_n[tn]_128$/,
  }
}
const inBf16 = (settings: Settings): Card => ({
  settings,
  tolerances: { fp8_tensor: TOLERANCES.f32, fp8_tiles: TOLERANCES.decoded },
  products: 'bf16',
  kernels: /^matmul_n[tn]_fp8_(tensor|tiles)_64$/,
})

const CARDS: Record<string, Card> = {
  'fp8, warps in turn': { ...inFp8({}), isSampled: false },
  'fp8, warps in a drawn order': inFp8({ CAIRN_EMULATOR_SEED: '1' }),
  'fp8, copies at once': inFp8({ CAIRN_EMULATOR_COPIES: 'at-once' }),
  'fp8, sums of 14 bits': inFp8({ CAIRN_EMULATOR_FP8_SUMS: '14' }),
  'fp8, sums of 14 bits, warps in a drawn order': inFp8({
    CAIRN_EMULATOR_FP8_SUMS: '14',
    CAIRN_EMULATOR_SEED: '2',
  }),
  'fp8, sums of 14 bits, copies at once': inFp8({
    CAIRN_EMULATOR_FP8_SUMS: '14',
    CAIRN_EMULATOR_COPIES: 'at-once',
  }),
  'bf16 by CAIRN_TUNE_CUDA_FP8': inBf16({ CAIRN_EMULATOR_CAPABILITY: '90' }),
  'bf16, capability 8.0': { ...inBf16({}), products: 'fp8' },
}

type Case = (typeof FP8_CASES)[number]

/** Launches of a case by kernel. Launches nothing. */
function launchesOf(engine: CudaEngine, { op, inputs, attrs }: Case): Readonly<Record<string, number>> {
  const g = createRecorder()
  const given = Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, value && g.input(name, value.dtype, value.shape)]),
  )
  const program = g.finish(g.step(op, given, attrs))
  return engine.launches(engine.compile(flatten(program, planMemory(program).placements)))
}

/** Bits of the first order of each kind of sums, by case. */
const first = new Map<string, Uint8Array>()

function compareOn({ settings, tolerances, products, kernels, isSampled = true }: Card): void {
  let engine: CudaEngine
  let cpu: Engine
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_FP8', products)
    await stubEmulator(settings)
    engine = await createCudaEngine()
    cpu = await createEngine({ threads: 1 })
  }, 600_000)
  afterAll(() => {
    engine.close()
    cpu.close()
    vi.unstubAllEnvs()
  })

  test.each(isSampled ? everyNth(4, FP8_CASES) : FP8_CASES)('$op: $name', async one => {
    const { op, name, inputs, attrs, stored } = one
    const launched = Object.keys(launchesOf(engine, one))
    expect(launched.filter(kernel => kernels.test(kernel))).toHaveLength(1)
    const { y } = await runNative(engine, op, inputs, attrs)
    const error = relativeError(y?.numbers ?? [], runOracle(op, inputs, attrs)['y'] ?? [])
    expect(error).toBeLessThanOrEqual(tolerances[stored])
    const key = `${kernels} ${settings.CAIRN_EMULATOR_FP8_SUMS} ${op} ${name}`
    const bytes = first.get(key) ?? y?.bytes ?? new Uint8Array()
    first.set(key, bytes)
    expect(countDifferent(y?.bytes ?? new Uint8Array(), bytes), 'bytes of another order').toBe(0)
  })

  test.each(isSampled ? everyNth(5, CODE_CASES) : CODE_CASES)(
    'codes as on the processor: $name',
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
  /** Promise T1.2: Products of fp8 operands give the oracle's results on the emulated card. */
  describe.each(Object.entries(CARDS))('on the emulated card: %s', (_, card) => compareOn(card))

  test('another value of CAIRN_TUNE_CUDA_FP8 is an error', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    vi.stubEnv('CAIRN_TUNE_CUDA_FP8', 'yes')
    await expect(createCudaEngine()).rejects.toThrow(
      'Invalid CAIRN_TUNE_CUDA_FP8 "yes": must be fp8 or bf16.',
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
