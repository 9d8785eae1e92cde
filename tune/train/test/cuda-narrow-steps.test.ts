/**
 * LoRA steps with fp8 and nvfp4 arithmetic beside the processor's, on emulated cards of compute capability
 * 9.0, which multiply in fp8, and 12.0, which multiply in fp4.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { buildEmulator, type Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, createEngine, findNvcc, nvccCandidates } from '@cairn-tune/native'
import { FIGURES, gapOf, stepOf } from './card-steps.ts'

const HOPPER = { CAIRN_EMULATOR_CAPABILITY: '90' }
const BLACKWELL = { CAIRN_EMULATOR_CAPABILITY: '120' }
const CUT = { ...HOPPER, CAIRN_EMULATOR_FP8_SUMS: '14' }

const VARIANTS = [
  // With activations and sums in f32, and a tensor's scale, only the order of sums differs.
  { recipe: 'fp8', compute: 'f32', settings: HOPPER, figure: FIGURES.exact },
  { recipe: 'fp8', compute: 'bf16', settings: CUT, figure: FIGURES.fp8 },
  { recipe: 'qfp8', matmul: 'fp8-hybrid', compute: 'bf16', settings: HOPPER, figure: FIGURES.fp8 },
  { recipe: 'qfp8', matmul: 'fp8-hybrid', compute: 'f32', settings: CUT, figure: FIGURES.fp8 },
  { recipe: 'fp4', compute: 'f32', settings: BLACKWELL, figure: FIGURES.exact },
  { recipe: 'fp4', compute: 'bf16', settings: BLACKWELL, figure: FIGURES.fp4 },
  // Nothing is rounded to few bits: other kernels are those of other cards.
  { recipe: 'qfp4', compute: 'bf16', settings: BLACKWELL, figure: FIGURES.bf16 },
] as const satisfies { settings: Settings; [name: string]: unknown }[]

function compareWithProcessor(): void {
  afterEach(() => vi.unstubAllEnvs())

  test.each(VARIANTS)(
    'loss and gradients, $recipe in $compute, $settings',
    async ({ settings, figure, ...variant }) => {
      await stubEmulator(settings)
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
  /** Promise T1.2: LoRA in fp8 and fp4 on a card trains as on the processor. */
  describe('on the emulated card', compareWithProcessor)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
  }, 600_000)
}
