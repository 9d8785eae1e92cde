/**
 * LoRA steps on emulated cards whose products with few columns share launches have the bits of steps in which
 * each product has its own, also where only some products can share.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, findNvcc, nvccCandidates } from '@cairn-tune/native'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { stepOf, type StepOptions } from './card-steps.ts'

type Variant = Pick<StepOptions, 'recipe'> & Partial<StepOptions>

const VARIANTS: readonly Variant[] = [
  { recipe: 'bf16' },
  { recipe: 'bf16', flags: ['--lora_rank=8', '--rank_pattern=q_proj=64, v_proj=12, up_proj=32'] },
  { recipe: 'bf16', flags: ['--lora_rank=4', '--lora_dropout=0.1'] },
  { recipe: 'bf16', flags: ['--lora_target_modules=q_proj, v_proj, down_proj'] },
  { recipe: 'qbnb', flags: ['--lora_dropout=0.1'] },
  { recipe: 'fp8' },
  { recipe: 'fp4' },
  { recipe: 'bf16', isDora: true },
  { recipe: 'bf16', compute: 'f32' },
]

function compareSteps(): void {
  afterEach(() => vi.unstubAllEnvs())

  test.each(everyNth(3, VARIANTS))(
    '$recipe $flags',
    async variant => {
      const options = { shape: 'tiny', compute: 'bf16', isDora: false, tokens: 40, ...variant } as const
      const run = async (kernels: string) => {
        await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: '80' })
        using card = await createCudaEngine({ kernels: kernels === 'classic' ? kernels : '' })
        return await stepOf(card, options)
      }
      const [own, other] = [await run(''), await run('classic')]
      expect(own.loss).toBe(other.loss)
      expect([...own.gradients.keys()]).toEqual([...other.gradients.keys()])
      for (const [name, values] of own.gradients) expect(values, name).toEqual(other.gradients.get(name))
    },
    600_000,
  )
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) describe('on the emulated card', compareSteps)
else
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
