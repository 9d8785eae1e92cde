/** Experts divided among ranks: the bits of one rank that has all experts, in less memory. */
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { FAMILIES } from '@cairn-tune/models'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { estimate, writeModelFromConfig, type TrainResult } from '@cairn-tune/train'
import { SMALL_EXPERTS, adapterOf, withRanks, type Settings } from './rank-runs.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const [qwen3, qwen2] = ['qwen3_moe', 'qwen2_moe'].map(name => join(bench.directory, name)) as [string, string]
await writeModelFromConfig(
  qwen3,
  { ...FAMILIES.qwen3_moe.defaults, ...SMALL_EXPERTS, model_type: 'qwen3_moe' },
  1,
)
await writeModelFromConfig(
  qwen2,
  {
    ...FAMILIES.qwen2_moe.defaults,
    ...SMALL_EXPERTS,
    model_type: 'qwen2_moe',
    shared_expert_intermediate_size: 32,
  },
  1,
)
const dataset = bench.writeTexts('experts', textsOf(40, 30))

/** Runs on ranks that divide the experts, or on one that has all. */
const run = (ranks: number, more: Settings = {}) =>
  bench.run(
    withRanks(ranks, {
      model: qwen3,
      dataset,
      max_seq_length: 48,
      max_steps: 4,
      lora_rank: 4,
      lora_expert_rank: 2,
      lora_alpha: 8,
      expert_parallel: ranks,
      ...more,
    }),
  )
const measured = ({ metrics }: TrainResult) =>
  metrics.map(({ loss, grad_norm: norm, slots }) => [loss, norm, slots])

const KINDS: readonly { name: string; settings: Settings }[] = [
  { name: 'bf16 with a clipped gradient', settings: { max_grad_norm: 0.01 } },
  { name: 'bf16 with everything recomputed', settings: { recompute: 'all' } },
  { name: 'f32', settings: { compute_dtype: 'f32' } },
  { name: 'qfp8', settings: { recipe: 'qfp8' } },
  { name: 'qfp4', settings: { recipe: 'qfp4' } },
  { name: 'qbnb', settings: { recipe: 'qbnb' } },
  { name: 'a shared expert', settings: { model: qwen2 } },
  { name: 'a balanced router', settings: { router_aux_loss_coef: 0.1 } },
  {
    name: 'adapters of attention alone',
    settings: { lora_target_modules: 'q_proj', lora_expert_rank: undefined },
  },
]

describe.each(everyNth(3, KINDS))('$name', ({ settings }) => {
  test('4 ranks with two experts each have the bits of one rank', async () => {
    const [one, four] = [
      await run(1, { ...settings, gradient_accumulation_steps: 8 }),
      await run(4, { ...settings, gradient_accumulation_steps: 2 }),
    ]
    expect(four.metrics).toHaveLength(4)
    expect(measured(four)).toEqual(measured(one))
    expect(adapterOf(four).equals(adapterOf(one))).toBe(true)
  })
})

test('a run resumes on 4, 1 and 2 ranks, and evaluates like one rank', async () => {
  const settings = {
    output_dir: join(bench.directory, 'chain'),
    lr_scheduler_type: 'constant',
    eval_split: 5,
    eval_steps: 2,
    max_steps: 6,
  }
  const [chained, evaluated]: [number[], unknown[]] = [[], []]
  for (const [ranks, steps] of [
    [4, 2],
    [1, 4],
    [2, 6],
  ] as const) {
    const part = await run(ranks, { ...settings, max_steps: steps, resume: steps > 2 })
    chained.push(...losses(part))
    evaluated.push(...part.evaluations.slice(-1).map(({ step, loss, tokens }) => [step, loss, tokens]))
  }
  const whole = await run(1, { ...settings, output_dir: join(bench.directory, 'whole') })
  expect(chained).toEqual(losses(whole))
  expect(evaluated).toEqual(whole.evaluations.map(({ step, loss, tokens }) => [step, loss, tokens]))
  const record = readFileSync(join(settings.output_dir, 'run.json'), 'utf8')
  expect(JSON.parse(record)).toMatchObject({ ranks: { count: 2, parallel: 'expert' } })
})

test('ranks without a micro-batch in the last round run their experts for those of the others', async () => {
  const settings = { output_dir: join(bench.directory, 'uneven'), lr_scheduler_type: 'constant' }
  const first = await run(2, { ...settings, gradient_accumulation_steps: 3, max_steps: 2 })
  const rest = await run(4, { ...settings, gradient_accumulation_steps: 2, max_steps: 4, resume: true })
  const whole = await run(1, { lr_scheduler_type: 'constant', gradient_accumulation_steps: 6 })
  expect([...measured(first), ...measured(rest)]).toEqual(measured(whole))
  expect(adapterOf(rest).equals(adapterOf(whole))).toBe(true)
})

test('an estimate states the memory of a rank with its part of the experts', async () => {
  const settings = { model: qwen3, dataset, max_seq_length: 48, gradient_accumulation_steps: 1 }
  const [all, quarter] = await Promise.all(
    [1, 4].map(ranks => estimate(bench.config({ ...settings, ranks, expert_parallel: ranks }))),
  )
  // Half of this model's weights are experts, in bf16: 2 layers × 8 experts × 3 × 64 × 64.
  const bytes = 2 * 8 * 3 * 64 * 64 * 2
  expect((all?.memory.weights ?? 0) - (quarter?.memory.weights ?? 0)).toBe((bytes * 3) / 4)
  expect(quarter?.memory.optimizer).toBeLessThan((all?.memory.optimizer ?? 0) / 2)
})

test.each<[Settings, string]>([
  [
    { expert_parallel: 2, ranks: 4 },
    'expert_parallel 2: the experts are divided among all ranks; set ranks: 2',
  ],
  [{ recipe: 'fp8' }, 'expert_parallel: not available with recipe: fp8; use bf16'],
  [{ method: 'dpo' }, 'expert_parallel: not available with method: dpo; use sft'],
  [{ lora: false }, 'expert_parallel: not available with lora: false; use an adapter'],
  [{ optimizer: 'adamw_8bit' }, 'expert_parallel: not available with optimizer: adamw_8bit; use adamw'],
  [{ device: 'cuda' }, 'expert_parallel: not available with device: cuda; use cpu'],
  [{ offload: 'disk' }, 'expert_parallel: not available with offload: disk; use none'],
])('rejects %j', (keys, message) => {
  expect(() => bench.config({ dataset, ranks: 4, expert_parallel: 4, ...keys })).toThrow(message)
})

test('rejects a model without experts, and experts that do not divide', async () => {
  await expect(run(2, { model: bench.model, lora_expert_rank: undefined })).rejects.toThrow(
    /^expert_parallel: .* is a qwen3 model without experts$/,
  )
  await expect(run(3, { gradient_accumulation_steps: 1 })).rejects.toThrow(
    'expert_parallel: 8 experts do not divide among 3 ranks; use a divisor of 8',
  )
})
