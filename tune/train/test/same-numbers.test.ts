/**
 * What must not change the numbers of a run: packing, accumulation, recomputation, threads, and interruption.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { TrainResult } from '@cairn-tune/train'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
// Eight documents fill four rows of 64 exactly.
const texts = bench.writeTexts('eight', textsOf(32, 8))
const exact = {
  dataset: texts,
  compute_dtype: 'f32',
  gradient_accumulation_steps: 1,
  max_steps: 4,
  threads: 2,
}
const fast = { ...exact, compute_dtype: 'bf16' }

const adapterOf = ({ output }: TrainResult) => readFileSync(join(output, 'adapter_model.safetensors'))

/** Sums in another order differ in the last bits of f32; four steps of Adam amplify that a little. */
function expectClose(actual: TrainResult, expected: TrainResult): void {
  losses(actual).forEach((loss, i) => expect(loss).toBeCloseTo(losses(expected)[i] ?? NaN, 4))
  actual.metrics.forEach(({ grad_norm: norm }, i) =>
    expect(norm / (expected.metrics[i]?.grad_norm ?? NaN)).toBeCloseTo(1, 3),
  )
}

/** Promise T4: Documents packed into rows train as they do alone. */
test('documents packed into rows train like one document per row', async () => {
  const packed = await bench.run({ ...exact, per_device_train_batch_size: 4 })
  const apart = await bench.run({ ...exact, per_device_train_batch_size: 8, packing: false })
  expect(packed.metrics[0]?.real_tokens).toBe(256)
  expect(packed.metrics[0]?.slots).toBe(256)
  expect(apart.metrics[0]?.slots).toBe(512)
  expectClose(packed, apart)
})

/** Promise T4: Four micro-batches of two rows train like one batch of eight rows. */
test('four micro-batches of two rows train like one of eight, even with uneven token counts', async () => {
  const uneven = bench.writeTexts(
    'uneven',
    [10, 60, 33, 5, 48, 22, 64, 17].flatMap(length => textsOf(length, 1)),
  )
  const settings = { ...exact, dataset: uneven, packing: false }
  const whole = await bench.run({ ...settings, per_device_train_batch_size: 8 })
  const parts = await bench.run({
    ...settings,
    per_device_train_batch_size: 2,
    gradient_accumulation_steps: 4,
  })
  expect(parts.metrics.map(step => step.trained_tokens)).toEqual(
    whole.metrics.map(step => step.trained_tokens),
  )
  expectClose(parts, whole)
})

/** Promise T7: Recomputation changes no bit. */
test.each(['bf16', 'fp8', 'fp4'])(
  'recomputing everything gives the same adapter as keeping everything, bit for bit (%s)',
  async recipe => {
    const [kept, again] = [
      await bench.run({ ...fast, recipe, recompute: 'none' }),
      await bench.run({ ...fast, recipe, recompute: 'all' }),
    ]
    expect(again.memory.arena).toBeLessThan(kept.memory.arena)
    expect(losses(again)).toEqual(losses(kept))
    expect(adapterOf(again).equals(adapterOf(kept))).toBe(true)
  },
)

test.each(['bf16', 'fp4'])('three threads give the same adapter as one, bit for bit (%s)', async recipe => {
  const [one, three] = [
    await bench.run({ ...fast, recipe, threads: 1 }),
    await bench.run({ ...fast, recipe, threads: 3 }),
  ]
  expect(losses(three)).toEqual(losses(one))
  expect(adapterOf(three).equals(adapterOf(one))).toBe(true)
})

/** Promise T4: A run that is stopped and resumed ends with the same bits. */
test.each([
  ['bf16', true, 'adamw'],
  ['bf16', false, 'adamw_8bit'],
  ['fp8', true, 'adamw_8bit'],
  ['fp4', true, 'adamw'],
])(
  'an interrupted and resumed run ends with the bits of an uninterrupted one (%s, lora: %s, %s)',
  async (recipe, lora, optimizer) => {
    const settings = {
      ...fast,
      recipe,
      lora,
      optimizer,
      per_device_train_batch_size: 1,
      gradient_accumulation_steps: 2,
      max_steps: 7,
      warmup_steps: 2,
      lr_scheduler_type: 'cosine',
      weight_decay: 0.01,
    }
    const whole = await bench.run(settings)
    const output_dir = join(bench.directory, `stopped-${recipe}-${lora}`)
    const stop = new AbortController()
    const first = await bench.run(
      { ...settings, output_dir },
      { signal: stop.signal, onStep: ({ step }) => step === 3 && stop.abort() },
    )
    expect(first).toMatchObject({ status: 'interrupted', steps: 3, output: '' })
    const second = await bench.run({ ...settings, output_dir, resume: true })
    expect(second.metrics.map(({ step }) => step)).toEqual([4, 5, 6, 7])
    expect([...losses(first), ...losses(second)]).toEqual(losses(whole))
    const file = lora ? 'adapter_model.safetensors' : 'model.safetensors'
    expect(readFileSync(join(second.output, file)).equals(readFileSync(join(whole.output, file)))).toBe(true)
    const steps = readFileSync(join(output_dir, 'metrics.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as { step: number }).step)
    expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7])
  },
)

test('a run resumes only with its original settings and data', async () => {
  const output_dir = join(bench.directory, 'begun')
  await bench.run({ ...fast, output_dir })
  await expect(bench.run({ ...fast, output_dir, resume: true, lora_alpha: 8 })).rejects.toThrow(
    'has lora_alpha 32, not 8',
  )
  await expect(
    bench.run({ ...fast, output_dir, resume: true, dataset: bench.writeTexts('other', textsOf(30, 8)) }),
  ).rejects.toThrow('other training data')
  await expect(bench.run({ ...fast, output_dir })).rejects.toThrow(
    /contains an earlier run \(.*\); use --resume/,
  )
  const done = await bench.run({ ...fast, output_dir, resume: true, threads: 1, save_steps: 2 })
  expect(done).toMatchObject({ status: 'finished', steps: 4, metrics: [] })
})
