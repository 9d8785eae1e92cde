/**
 * Whole training steps on the emulated card beside the processor's: DoRA by its gradients, preferences by
 * the loss and the norm of the gradient of two steps. `npm run test:cuda` runs every variant.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { createCudaEngine, createEngine, findNvcc, nvccCandidates } from '@cairn-tune/native'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { FIGURES, figureOf, gapOf, stepOf } from './card-steps.ts'
import { createBench, type Bench } from './run.ts'

function compareWithProcessor(): void {
  // Scores of a reference are cached by model, so that each device has the same model in its own folder.
  let benches: Record<'cuda' | 'cpu', Bench>
  beforeAll(async () => {
    benches = { cuda: await createBench(), cpu: await createBench() }
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
  }, 600_000)
  afterAll(() => {
    for (const bench of Object.values(benches)) bench.remove()
    vi.unstubAllEnvs()
  })

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

  test.each(everyNth(4, PREFERENCES))(
    'two steps of %o',
    async settings => {
      const dataset = join(benches.cpu.directory, `${settings.method}.jsonl`)
      writeFileSync(
        dataset,
        rowsOf(settings.method)
          .map(row => `${JSON.stringify(row)}\n`)
          .join(''),
      )
      const [own, other] = [await run('cuda'), await run('cpu')]
      expect(own.metrics).toHaveLength(2)
      for (const [i, { loss, grad_norm: norm, rewards_margin: margin = 0 }] of own.metrics.entries()) {
        const there = other.metrics[i]
        expect(Math.abs(loss / (there?.loss ?? NaN) - 1)).toBeLessThanOrEqual(FIGURES.exact.loss)
        expect(Math.abs(norm / (there?.grad_norm ?? NaN) - 1)).toBeLessThanOrEqual(FIGURES.exact.gradients)
        expect(margin).toBeCloseTo(there?.rewards_margin ?? 0, 5)
      }

      async function run(device: 'cuda' | 'cpu') {
        return await benches[device].run({
          ...settings,
          dataset,
          device,
          compute_dtype: 'f32',
          gradient_accumulation_steps: 1,
          per_device_train_batch_size: 4,
          max_steps: 2,
          learning_rate: 0.01,
          threads: 1,
        })
      }
    },
    600_000,
  )
}

const DORA = [
  { recipe: 'bf16', compute: 'f32' },
  { recipe: 'bf16', compute: 'bf16' },
  { recipe: 'qbnb', compute: 'bf16' },
] as const

const PREFERENCES = [
  { method: 'dpo', loss_type: 'sigmoid' },
  { method: 'dpo', loss_type: 'ipo' },
  { method: 'kto', loss_type: undefined },
  { method: 'orpo', loss_type: undefined },
] as const

const rowsOf = (method: string) =>
  Array.from({ length: 8 }, (_, i) => {
    const [prompt, chosen, rejected] = [`${i} is `, 'abcdefgh'.slice(i % 4), 'zyxwvu'.slice(i % 3)]
    return method === 'kto'
      ? { prompt, completion: chosen, label: i % 2 === 0 }
      : { prompt, chosen, rejected }
  })

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  /** Promise T1.2: DoRA and preferences on a card train as on the processor. */
  describe('on the emulated card', compareWithProcessor)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    await expect(createCudaEngine()).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
