/** A base streamed from disk: the same bits as in memory, and no more memory than estimated. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { FAMILIES } from '@cairn-tune/models'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { parseBytes, writeModelFromConfig, type MemoryEstimate, type TrainResult } from '@cairn-tune/train'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const shape = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  initializer_range: 0.05,
}
const experts = join(bench.directory, 'experts')
await writeModelFromConfig(
  experts,
  {
    ...FAMILIES.qwen3_moe.defaults,
    ...shape,
    model_type: 'qwen3_moe',
    num_experts: 4,
    num_experts_per_tok: 2,
    moe_intermediate_size: 32,
  },
  1,
)
const settings = {
  dataset: bench.writeTexts('texts', textsOf(40, 12)),
  max_seq_length: 48,
  per_device_train_batch_size: 1,
  // Twelve rows per epoch: the last window of the run is full, that of an evaluation is not.
  gradient_accumulation_steps: 4,
  max_steps: 3,
  learning_rate: 1e-2,
  lora_rank: 4,
  threads: 2,
}
const adapterOf = ({ output }: TrainResult) => readFileSync(join(output, 'adapter_model.safetensors'))

// `npm test` runs three of the nine, and one of the two large bases.
/** Promise T7: A base streamed from disk gives the bits of one in memory, within a smaller memory budget. */
test.each(
  everyNth<[string, object]>(3, [
    ['bf16', {}],
    ['f32 weights from a bf16 file', { compute_dtype: 'f32' }],
    ['fp8, whose scales have a history', { recipe: 'fp8' }],
    ['fp4, whose gradients are rounded at random', { recipe: 'fp4' }],
    ['qbnb', { recipe: 'qbnb' }],
    ['dropout', { lora_dropout: 0.2 }],
    ['DoRA', { use_dora: true }],
    ['experts', { model: experts, recipe: 'qfp4' }],
    ['experts that are kept busy alike', { model: experts, router_aux_loss_coef: 0.1 }],
  ]),
)('a streamed base gives the same bits as one in memory: %s', async (_name, own) => {
  const held = bench.writeTexts('held', textsOf(30, 6))
  const all = { ...settings, ...own, eval_dataset: held, eval_steps: 2 }
  const [whole, streamed] = [await bench.run(all), await bench.run({ ...all, offload: 'disk' })]
  expect(losses(streamed)).toEqual(losses(whole))
  expect(streamed.metrics.map(step => step.grad_norm)).toEqual(whole.metrics.map(step => step.grad_norm))
  expect(streamed.evaluations.map(({ loss }) => loss)).toEqual(whole.evaluations.map(({ loss }) => loss))
  expect(adapterOf(streamed).equals(adapterOf(whole))).toBe(true)
})

test('a streamed run resumes in memory with the same bits as an uninterrupted run', async () => {
  const whole = await bench.run(settings)
  const output_dir = join(bench.directory, 'half')
  const stop = new AbortController()
  const half = { ...settings, output_dir, offload: 'disk' }
  await bench.run(half, { signal: stop.signal, onStep: ({ step }) => step === 1 && stop.abort() })
  const rest = await bench.run({ ...settings, output_dir, resume: true })
  expect(rest.metrics.map(({ step }) => step)).toEqual([2, 3])
  expect(adapterOf(rest).equals(adapterOf(whole))).toBe(true)
})

test.each([
  [{ method: 'orpo' }, 'offload: not available with method orpo, only with sft'],
  [
    { lora: false },
    'offload: disk keeps the frozen base on disk, but lora: false trains it; use one of them',
  ],
  [{ recompute: 'none' }, 'offload: disk always recomputes activations'],
])('rejects %j with offload: disk', (keys, message) => {
  expect(() => bench.config({ ...settings, ...keys, offload: 'disk' })).toThrow(message)
})

describe('a base larger than the budget', () => {
  const large = join(bench.directory, 'large')
  const child = fileURLToPath(new URL('../bench/memory.ts', import.meta.url))
  const settingsOf = (own: Readonly<Record<string, string>>) =>
    Object.entries({
      dataset: settings.dataset,
      max_seq_length: '48',
      // The second step touches memory that the first one does not: 75 MB of optimizer moments.
      max_steps: '2',
      gradient_accumulation_steps: '2',
      lora_rank: '32',
      threads: '2',
      overwrite: 'true',
      ...own,
    }).map(([key, value]) => `--${key}=${value}`)

  /** In a separate process, whose peak memory is that of the run. */
  const runAlone = (own: Readonly<Record<string, string>>) =>
    spawnSync(process.execPath, [child, large, ...settingsOf(own)], {
      env: { ...process.env, CAIRN_MEMORY_CHILD: '1' },
      encoding: 'utf8',
    })

  function trainAlone(own: Readonly<Record<string, string>>): { estimated: MemoryEstimate; peak: number } {
    const { stdout, stderr, status } = runAlone(own)
    if (status !== 0) throw new Error(stderr)
    return JSON.parse(stdout) as { estimated: MemoryEstimate; peak: number }
  }

  /** The memory in MiB that a run reports to need if its limit is far too low. */
  function neededAlone(own: Readonly<Record<string, string>>): number {
    const { stderr } = runAlone({ ...own, memory_limit: '1MiB' })
    const [, needed] = /OOM: this run needs (\S+ \S+) even with everything recomputed/.exec(stderr) ?? []
    if (needed === undefined) throw new Error(`not refused for its memory: ${stderr}`)
    return parseBytes(needed)
  }

  test.each(everyNth(2, ['bf16', 'qfp8']))(
    'trains within the budget from disk and is rejected otherwise: %s',
    async recipe => {
      // 16 layers of 13 MB in bf16, 6 MB in FP8.
      if (!existsSync(large))
        await writeModelFromConfig(
          large,
          {
            ...FAMILIES.qwen3.defaults,
            ...shape,
            model_type: 'qwen3',
            hidden_size: 768,
            intermediate_size: 2048,
            num_hidden_layers: 16,
            head_dim: 64,
          },
          1,
        )
      const common = { recipe, output_dir: join(bench.directory, `large-${recipe}`) }
      const [inMemory, fromDisk] = [neededAlone(common), neededAlone({ ...common, offload: 'disk' })]
      // Node's own memory varies by about 20 MiB between runs, so the limit is far from both.
      expect(inMemory - fromDisk).toBeGreaterThan(parseBytes('50MiB'))
      const limit = Math.round((inMemory + fromDisk) / 2)
      const limited = { ...common, memory_limit: `${limit}B` }
      expect(() => trainAlone(limited)).toThrow('or keep the base on disk (offload: disk)')
      const { estimated, peak } = trainAlone({ ...limited, offload: 'disk' })
      expect(peak).toBeLessThan(limit)
      expect(Math.abs(peak - estimated.total)).toBeLessThan(parseBytes('32MiB'))
    },
  )
})
