/**
 * Data parallel training: several ranks give the bits of one rank that trains with as many micro-batches, and
 * a run resumes on another number of ranks.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { buildAddon } from '@cairn-tune/native/build'
import { everyNth } from '@cairn-tune/ops/test/sample'
import type { TrainResult } from '@cairn-tune/train'
import { MICRO_BATCHES, adapterOf, withRanks, type Settings } from './rank-runs.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
afterEach(() => vi.unstubAllEnvs())
const dataset = bench.writeTexts('texts', textsOf(32, 30))
const run = (ranks: number, more: Settings = {}, onNote?: (line: string) => void) =>
  bench.run(withRanks(ranks, { dataset, ...more }), onNote ? { onNote } : {})

const KINDS: readonly { name: string; settings: Settings }[] = [
  { name: 'bf16', settings: { recipe: 'bf16' } },
  { name: 'f32', settings: { compute_dtype: 'f32' } },
  { name: 'fp8', settings: { recipe: 'fp8' } },
  { name: 'fp4', settings: { recipe: 'fp4' } },
  { name: 'qfp8', settings: { recipe: 'qfp8' } },
  { name: 'qfp4 with dropout', settings: { recipe: 'qfp4', lora_dropout: 0.1 } },
  { name: 'qbnb with 8-bit moments', settings: { recipe: 'qbnb', optimizer: 'adamw_8bit' } },
  { name: 'full training', settings: { lora: false, max_steps: 3 } },
  { name: 'a base streamed from disk', settings: { offload: 'disk' } },
]

describe.each(everyNth(3, KINDS))('$name', ({ settings }) => {
  test('4 ranks with two micro-batches each have the bits of one rank', async () => {
    const [one, four] = [
      await run(1, { ...settings, gradient_accumulation_steps: 8 }),
      await run(4, { ...settings, gradient_accumulation_steps: 2 }),
    ]
    const measured = ({ metrics }: TrainResult) =>
      metrics.map(({ loss, grad_norm, slots, trained_tokens }) => [loss, grad_norm, slots, trained_tokens])
    expect(losses(four)).toHaveLength(one.steps)
    expect(measured(four)).toEqual(measured(one))
    if (settings['lora'] !== false) expect(adapterOf(four).equals(adapterOf(one))).toBe(true)
  })
})

test('rank 0 writes what a single rank writes, and tokens per second are those of all ranks', async () => {
  const [two, one] = [await run(2, { max_steps: 3 }), await run(1, { max_steps: 3 })]
  const files = ({ output }: TrainResult) => readdirSync(join(output, '..')).toSorted()
  expect(files(two)).toEqual(files(one))
  expect(JSON.parse(readFileSync(join(two.output, '../run.json'), 'utf8'))).toMatchObject({
    ranks: { count: 2, transport: 'shared memory', parallel: 'data' },
    hardware: expect.stringMatching(/^2 ranks of /),
  })
  for (const { slots, seconds, tokens_per_second: rate } of two.metrics) {
    expect(slots).toBe(MICRO_BATCHES * 64)
    expect(rate).toBeCloseTo(slots / seconds, 6)
  }
})

test('a run resumes on 4, 3, 1 and 2 ranks with the bits of one rank, and not on 5', async () => {
  const settings = {
    output_dir: join(bench.directory, 'chain'),
    lr_scheduler_type: 'constant',
    // As in the first part: the checkpoint determines the micro-batches of a step.
    gradient_accumulation_steps: 1,
  }
  const notes: string[] = []
  const chained: number[] = []
  for (const [ranks, steps] of [
    [4, 2],
    [3, 4],
    [1, 6],
    [2, 8],
  ] as const) {
    const part = await run(ranks, { ...settings, max_steps: steps, resume: steps > 2 }, line =>
      notes.push(line),
    )
    chained.push(...losses(part))
    expect(part.metrics.map(({ slots }) => slots)).toEqual([MICRO_BATCHES * 64, MICRO_BATCHES * 64])
  }
  expect(chained).toEqual(losses(await run(1, { lr_scheduler_type: 'constant' })))
  expect(notes.filter(line => line.startsWith('the checkpoint is of'))).toEqual([
    'the checkpoint is of 4 ranks: its steps of 4 micro-batches continue on 3 ranks, at most 2 each',
    'the checkpoint is of 3 ranks: its steps of 4 micro-batches continue on 1 rank, at most 4 each',
    'the checkpoint is of 1 rank: its steps of 4 micro-batches continue on 2 ranks, at most 2 each',
  ])
  await expect(run(5, { ...settings, max_steps: 10, resume: true })).rejects.toThrow(
    /^ranks: .* have 4 micro-batches, too few for 5 ranks; use at most 4$/,
  )
})

test('ranks divide an evaluation, and all know its result', async () => {
  const settings: Settings = { eval_split: 6, eval_steps: 2, early_stopping_patience: 1 }
  const [one, two] = [await run(1, settings), await run(2, settings)]
  const found = ({ evaluations }: TrainResult) =>
    evaluations.map(({ step, loss, tokens }) => [step, loss, tokens])
  expect(found(two)).toEqual(found(one))
  expect(two.steps).toBe(one.steps)
})

test('an error that every rank has is reported once, with its own class', async () => {
  await expect(run(2, { memory_limit: '100MB' })).rejects.toMatchObject({
    name: 'OutOfMemoryError',
    message: expect.stringMatching(/^OOM: this run needs/),
  })
})

test('an abort stops all ranks after the same step, and the run resumes', async () => {
  const settings = { dataset, output_dir: join(bench.directory, 'interrupted'), max_steps: 400 }
  const interrupt = new AbortController()
  const stopped = await bench.run(withRanks(2, settings), {
    signal: interrupt.signal,
    onStep: ({ step }) => {
      if (step === 3) interrupt.abort(new Error('enough'))
    },
  })
  expect(stopped.status).toBe('interrupted')
  const resumed = await run(2, { ...settings, max_steps: stopped.steps + 1, resume: true })
  expect(resumed.metrics.map(({ step }) => step)).toEqual([stopped.steps + 1])
})

test('ranks divide the comparisons among them, and train like one rank', async () => {
  // An empty cache of reference scores, without compiling the engine again.
  vi.stubEnv('CAIRN_TUNE_ADDON', await buildAddon())
  const rows = Array.from({ length: 9 }, (_, i) => ({
    prompt: `${i} is `,
    chosen: 'abcdefgh'.slice(i % 4),
    rejected: 'zyxwvu'.slice(i % 3),
  }))
  const pairs = join(bench.directory, 'pairs.jsonl')
  writeFileSync(pairs, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const compared = async (ranks: number) => {
    vi.stubEnv('XDG_CACHE_HOME', join(bench.directory, `cache-${ranks}`))
    return await run(ranks, { method: 'dpo', dataset: pairs, per_device_train_batch_size: 2, max_steps: 4 })
  }
  const [one, two] = [await compared(1), await compared(2)]
  expect(losses(two)).toEqual(losses(one))
  for (const [i, { rewards_margin: margin = NaN, rewards_accuracy: accuracy }] of two.metrics.entries()) {
    expect(margin).toBeCloseTo(one.metrics[i]?.rewards_margin ?? NaN, 5)
    expect(accuracy).toBe(one.metrics[i]?.rewards_accuracy)
  }
})
