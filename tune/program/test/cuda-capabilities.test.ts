/**
 * Which kernels cards of each compute capability run: those of warpgroups exist on 9.0 alone, although later
 * cards have higher numbers. On an emulated card of 12.0, which has 99 KiB of shared memory a block, a sample
 * of the cases gives the oracle's results.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine } from '@cairn-tune/native'
import { makeToolkit } from '@cairn-tune/native/test/fake-toolkit'
import { everyNth, onePerKind } from '@cairn-tune/ops/test/sample'
import { listCountCases } from '../bench/count-cases.ts'
import { CASES } from './cases.ts'
import { testKernels } from './emulated-kernels.ts'
import { BF16_CASES, FP4_CASES } from './fp4-cases.ts'
import { FP8_CASES } from './fp8-cases.ts'
import { kernelsOf } from './one-op.ts'

const NARROW = [...FP4_CASES, ...BF16_CASES, ...FP8_CASES]
const SELECTED = [...listCountCases(), ...NARROW, ...CASES]

/** Kernels by case, without nvcc: the modules of a fake one are never loaded. */
async function selectedOn(
  capability: number,
  kernels: '' | 'bulk-all' | 'classic' = '',
): Promise<string[][]> {
  await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: String(capability) })
  using engine = await createCudaEngine({ kernels })
  return SELECTED.map(({ op, inputs, attrs }) => kernelsOf(engine, op, inputs, attrs))
}

/** Promise T1.2: A card runs only kernels of its compute capability. */
describe('kernels by compute capability', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-capabilities-'))
  /** The kernels that 8.0 runs, by choice. */
  let of80: Record<'' | 'bulk-all' | 'classic', string[][]>
  beforeAll(async () => {
    vi.stubEnv('CUDA_HOME', makeToolkit(folder))
    of80 = {
      '': await selectedOn(80),
      'bulk-all': await selectedOn(80, 'bulk-all'),
      classic: await selectedOn(80, 'classic'),
    }
  }, 600_000)
  afterAll(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true, force: true })
  })

  const SPECIAL = /wgmma|^bulk_|^fp[48]_n|_codes$/

  test('8.0 runs no kernel of a later one', () => {
    expect(
      Object.values(of80)
        .flat(2)
        .filter(name => SPECIAL.test(name)),
    ).toEqual([])
  })

  test('9.0 runs those of warpgroups', async () => {
    const special = new Set((await selectedOn(90)).flat().filter(name => SPECIAL.test(name)))
    for (const name of ['wgmma_nt_256', 'attention_dq_wgmma_128', 'fp8_nt_128'])
      expect(special).toContain(name)
    expect(special).not.toContain('fp4_nt_128')
  })

  test.each([86, 89, 100, 103, 121])('%i runs those of 8.0, also with bulk copies', async capability => {
    expect(await selectedOn(capability)).toEqual(of80[''])
    expect(await selectedOn(capability, 'bulk-all')).toEqual(of80['bulk-all'])
  })

  test('12.0 runs those of 8.0, and products in fp4', async () => {
    const own = await selectedOn(120, 'bulk-all')
    const other = SELECTED.filter((_, at) => own[at]!.join() !== of80['bulk-all'][at]!.join())
    expect(other.filter(one => FP4_CASES.includes(one as (typeof FP4_CASES)[number]))).toEqual(FP4_CASES)
    for (const [at, names] of own.entries())
      if (other.includes(SELECTED[at]!))
        expect(names.filter(name => name !== 'stage')).toEqual(['round_nvfp4_codes', 'fp4_nt_128'])
    expect(await selectedOn(120, 'classic')).toEqual(of80.classic)
  })
})

/** Heads of 128 numbers, whose tiles need the most shared memory of all kernels. */
const isWideAttention = ({ name }: { name: string }): boolean => /^0\|.*·128\b/.test(name)

/** Promise T1.2: Each op gives the oracle's results on an emulated card of compute capability 12.0. */
describe('on an emulated card of compute capability 12.0', () =>
  testKernels({
    order: { CAIRN_EMULATOR_CAPABILITY: '120' },
    sampleOf: cases => [
      ...new Set([
        ...onePerKind(cases, ({ op, attrs }) => `${op} ${attrs['arithmetic']}`),
        ...onePerKind(cases.filter(isWideAttention), ({ op }) => op),
        ...everyNth(48, cases),
      ]),
    ],
  }))
