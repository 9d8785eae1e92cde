/**
 * LoRA steps with fp8 arithmetic on emulated cards of compute capability 9.0, which multiply in fp8, beside
 * the processor's.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { buildEmulator, type Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, createEngine, findNvcc, nvccCandidates } from '@cairn-tune/native'
import { FIGURES, gapOf, stepOf } from './card-steps.ts'

const VARIANTS = [
  // With sums in f32 and a tensor's scale, only the order of sums differs.
  { recipe: 'fp8', compute: 'f32', settings: {}, figure: FIGURES.exact },
  { recipe: 'fp8', compute: 'bf16', settings: { CAIRN_EMULATOR_FP8_SUMS: '14' }, figure: FIGURES.fp8 },
  { recipe: 'qfp8', matmul: 'fp8-hybrid', compute: 'bf16', settings: {}, figure: FIGURES.fp8 },
  {
    recipe: 'qfp8',
    matmul: 'fp8-hybrid',
    compute: 'f32',
    settings: { CAIRN_EMULATOR_FP8_SUMS: '14' },
    figure: FIGURES.fp8,
  },
] as const satisfies { settings: Settings; [name: string]: unknown }[]

function compareWithProcessor(): void {
  afterEach(() => vi.unstubAllEnvs())

  test.each(VARIANTS)(
    'loss and gradients, $recipe in $compute, $settings',
    async ({ settings, figure, ...variant }) => {
      await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: '90', ...settings })
      const options = {
        ...variant,
        shape: 'tiny',
        tokens: 40,
        isDora: false,
      } as const
      using card = await createCudaEngine()
      using cpu = await createEngine({ threads: 1 })
      const apart = gapOf(await stepOf(card, options), await stepOf(cpu, options))
      expect(apart.loss).toBeLessThanOrEqual(figure.loss)
      expect(apart.gradients).toBeLessThanOrEqual(figure.gradients)
    },
    600_000,
  )
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  /** Promise T1.2: LoRA in fp8 on a card trains as on the processor. */
  describe('on the emulated card', compareWithProcessor)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
  }, 600_000)
}
