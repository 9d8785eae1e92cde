/** Runs on preferences: valid rows, errors, and changes that must not change a number. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createBench, losses } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
// The scores of the reference are cached there; the engine is already loaded.
beforeAll(() => void vi.stubEnv('XDG_CACHE_HOME', join(bench.directory, 'cache')))
afterAll(() => void vi.unstubAllEnvs())

const write = (name: string, rows: readonly object[]) => {
  const path = join(bench.directory, `${name}.jsonl`)
  writeFileSync(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  return path
}
const pairs = Array.from({ length: 8 }, (_, i) => ({
  prompt: `${i} is `,
  chosen: 'abcdefgh'.slice(i % 4),
  rejected: 'zyxwvu'.slice(i % 3),
}))
const dataset = write('pairs', pairs)
const settings = {
  method: 'dpo',
  dataset,
  compute_dtype: 'f32',
  gradient_accumulation_steps: 1,
  per_device_train_batch_size: 4,
  max_steps: 6,
  learning_rate: 0.01,
  lr_scheduler_type: 'constant',
  threads: 1,
}

test('the margin of the chosen answers grows, and a resumed run ends with the same bits', async () => {
  const whole = await bench.run(settings)
  expect(whole.metrics[0]?.rewards_margin).toBeCloseTo(0, 5)
  expect(whole.metrics[0]?.loss).toBeCloseTo(Math.log(2), 6)
  expect(whole.metrics.at(-1)?.rewards_margin).toBeGreaterThan(0.05)
  expect(whole.metrics.at(-1)?.rewards_accuracy).toBe(1)

  const output_dir = join(bench.directory, 'stopped')
  const stop = new AbortController()
  const notes: string[] = []
  await bench.run(
    { ...settings, output_dir },
    { signal: stop.signal, onStep: ({ step }) => step === 3 && stop.abort() },
  )
  const rest = await bench.run(
    { ...settings, output_dir, resume: true },
    { onNote: line => void notes.push(line) },
  )
  expect(notes).toContain('using cached reference scores of 8 comparisons')
  expect(losses(rest)).toEqual(losses(whole).slice(3))
  const adapter = (directory: string) => readFileSync(join(directory, 'adapter_model.safetensors'))
  expect(adapter(rest.output).equals(adapter(whole.output))).toBe(true)
})

test('pairs packed into rows train like one pair per row', async () => {
  const apart = await bench.run({ ...settings, packing: false, per_device_train_batch_size: 8 })
  const packed = await bench.run({ ...settings, max_seq_length: 128, per_device_train_batch_size: 2 })
  expect(packed.metrics[0]?.slots).toBeLessThan(apart.metrics[0]?.slots ?? 0)
  for (const [i, { loss, grad_norm: norm }] of packed.metrics.slice(0, 3).entries()) {
    expect(loss).toBeCloseTo(apart.metrics[i]?.loss ?? NaN, 4)
    expect(norm / (apart.metrics[i]?.grad_norm ?? NaN)).toBeCloseTo(1, 3)
  }
})

test('a pair without a prompt is split where its answers differ; chat and text rows train with each method', async () => {
  const said = (role: string, content: string) => ({ role, content })
  const joint = write(
    'joint',
    pairs.map(({ prompt, chosen, rejected }) => ({ chosen: prompt + chosen, rejected: prompt + rejected })),
  )
  const [apart, whole] = [
    await bench.run({ ...settings, max_steps: 2 }),
    await bench.run({ ...settings, max_steps: 2, dataset: joint }),
  ]
  // There the space before an answer belongs to the answer.
  expect(whole.metrics[0]?.trained_tokens).toBe((apart.metrics[0]?.trained_tokens ?? 0) + 16)
  const rated = write(
    'rated',
    pairs.map(({ prompt, chosen }, i) => ({ prompt, completion: chosen, label: i % 2 === 0 })),
  )
  for (const [method, path] of [
    ['kto', rated],
    ['kto', dataset],
    ['orpo', dataset],
  ] as const) {
    const run = await bench.run({ ...settings, method, dataset: path })
    expect(run.metrics.at(-1)!.loss).toBeLessThan(run.metrics[0]!.loss)
  }
  const chats = write('chats', [
    { prompt: [said('user', 'q')], chosen: [said('assistant', 'a')], rejected: [said('assistant', 'b')] },
    {
      chosen: [said('user', 'q'), said('assistant', 'a')],
      rejected: [said('user', 'q'), said('assistant', 'b')],
    },
  ])
  const chat = await bench.run({ ...settings, dataset: chats, max_steps: 1 })
  expect(chat.metrics[0]?.rewards_margin).toBeCloseTo(0, 5)
  expect(chat.skippedRows).toBe(0)
})

test('the reference may have an adapter, from which the run starts', async () => {
  const first = await bench.run(settings)
  const next = await bench.run({
    ...settings,
    max_steps: 1,
    init_adapter: first.output,
    reference_adapter: first.output,
  })
  expect(next.metrics[0]?.loss).toBeCloseTo(Math.log(2), 6)
  const fromBase = await bench.run({ ...settings, max_steps: 1, init_adapter: first.output })
  expect(fromBase.metrics[0]?.rewards_margin).toBeGreaterThan(0.05)
})

test('an evaluation equals the loss at the start of the next step', async () => {
  const run = await bench.run({ ...settings, max_steps: 3, eval_dataset: dataset, eval_steps: 1 })
  for (const [i, { loss }] of run.evaluations.slice(0, 2).entries())
    expect(loss).toBeCloseTo(losses(run)[i + 1] ?? NaN, 4)
})

test('skips bad rows and names the reasons', async () => {
  const path = write('awkward', [
    ...pairs,
    { prompt: 'p', chosen: 'same', rejected: 'same' },
    { prompt: 'p', chosen: [{ role: 'assistant', content: 'a' }], rejected: 'b' },
    { prompt: 'p', chosen: 'only' },
  ])
  const run = await bench.run({ ...settings, max_steps: 1, dataset: path })
  expect(run.skippedRows).toBe(3)
  const record = readFileSync(join(run.config.output_dir, 'run.json'), 'utf8')
  expect(record).toContain('chosen and rejected are the same')
  expect(record).toContain('must either all be texts or all be lists of messages')
  expect(record).toContain('expected chosen + rejected')
})

test.each([
  [
    { lora: false },
    'lora: false is not available with method dpo, which trains an adapter; its reference is the base without the adapter',
  ],
  [{ method: 'sft', beta: 0.2 }, 'beta: not available with method sft, only with dpo, kto, orpo'],
  [{ method: 'kto', loss_type: 'ipo' }, 'loss_type: not available with method kto, only with dpo'],
  [
    { loss_type: 'ipo', label_smoothing: 0.1 },
    'label_smoothing: not available with loss_type ipo, only with sigmoid and robust',
  ],
  [{ method: 'kto', per_device_train_batch_size: 1 }, 'kto needs at least 2'],
  [{ dataset: 'problems:ro' }, 'generated problems have no preferences'],
])('rejects %j with the reason', async (changes, reason) => {
  await expect(async () => await bench.run({ ...settings, ...changes })).rejects.toThrow(reason)
})
