/**
 * Whole training steps with DoRA on the emulated card beside the processor's. `npm run test:cuda` runs every
 * variant.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { createCudaEngine, createEngine, findNvcc, nvccCandidates } from '@cairn-tune/native'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { figureOf, gapOf, stepOf } from './card-steps.ts'

/** Promise T1.2: DoRA on a card trains as on the processor. */
function compareWithProcessor(): void {
  beforeAll(async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
  }, 600_000)
  afterAll(() => void vi.unstubAllEnvs())

  test.each(everyNth(3, DORA))(
    'gradients of DoRA, $recipe in $compute',
    async variant => {
      const options = { ...variant, shape: 'tiny', tokens: 40, isDora: true } as const
      using card = await createCudaEngine()
      using cpu = await createEngine({ threads: 1 })
      const [own, other] = [await stepOf(card, options), await stepOf(cpu, options)]
      expect([...other.gradients.keys()].some(name => name.endsWith('magnitude_vector'))).toBe(true)
      const [apart, figure] = [gapOf(own, other), figureOf(options)]
      expect(apart.loss).toBeLessThanOrEqual(figure.loss)
      expect(apart.gradients).toBeLessThanOrEqual(figure.gradients)
    },
    600_000,
  )
}

const DORA = [
  { recipe: 'bf16', compute: 'f32' },
  { recipe: 'bf16', compute: 'bf16' },
  { recipe: 'qbnb', compute: 'bf16' },
] as const

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', compareWithProcessor)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
