/**
 * Data parallel training: several ranks train what one rank trains with as many micro-batches, lose nothing
 * when one of them is killed, and resume on another number of ranks.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { buildEmulatedNccl, buildEmulator } from '@cairn-tune/emulator'
import { findNvcc, nvccCandidates } from '@cairn-tune/native'
import { buildAddon } from '@cairn-tune/native/build'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { RanksError, readMetrics, type TrainResult } from '@cairn-tune/train'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
afterEach(() => vi.unstubAllEnvs())
const dataset = bench.writeTexts('texts', textsOf(32, 30))
type Settings = Parameters<typeof bench.run>[0]

/** Steps of 4 micro-batches in all, whatever the number of ranks. */
const withRanks = (ranks: number, more: Settings = {}): Settings => ({
  dataset,
  ranks,
  gradient_accumulation_steps: 4 / ranks,
  per_device_train_batch_size: 1,
  max_steps: 8,
  threads: 1,
  learning_rate: 0.01,
  ...more,
})
const adapterOf = ({ output }: TrainResult) => readFileSync(join(output, 'adapter_model.safetensors'))

/** The largest relative distance of two runs' losses. */
const distance = (a: readonly number[], b: readonly number[]) =>
  Math.max(...a.map((loss, i) => Math.abs(loss / (b[i] ?? NaN) - 1)))

const RECIPES: readonly { name: string; settings: Settings }[] = [
  { name: 'bf16', settings: { recipe: 'bf16' } },
  { name: 'fp8', settings: { recipe: 'fp8' } },
  { name: 'fp4', settings: { recipe: 'fp4' } },
  { name: 'qfp8', settings: { recipe: 'qfp8' } },
  { name: 'qfp4', settings: { recipe: 'qfp4' } },
  { name: 'qbnb with 8-bit moments', settings: { recipe: 'qbnb', optimizer: 'adamw_8bit' } },
  { name: 'full training', settings: { lora: false } },
]

describe.each([{ name: 'f32', settings: { compute_dtype: 'f32' } }, ...everyNth(RECIPES.length, RECIPES)])(
  '$name',
  ({ settings }) => {
    // Sums in another order differ in their last bits, which roundings to few bits can enlarge.
    const allowed = 'compute_dtype' in settings ? 1e-6 : 1e-4
    test('4 ranks have the losses of one rank', async () => {
      const [one, four] = [await bench.run(withRanks(1, settings)), await bench.run(withRanks(4, settings))]
      expect(losses(four)).toHaveLength(8)
      expect(distance(losses(four), losses(one))).toBeLessThan(allowed)
      expect(four.metrics.map(({ slots, trained_tokens: tokens }) => [slots, tokens])).toEqual(
        one.metrics.map(({ slots, trained_tokens: tokens }) => [slots, tokens]),
      )
    })
  },
)

test('the same number of ranks gives the same bits, and rank 0 writes what a single rank writes', async () => {
  const [first, second, one] = [
    await bench.run(withRanks(2)),
    await bench.run(withRanks(2)),
    await bench.run(withRanks(1)),
  ]
  expect(adapterOf(first).equals(adapterOf(second))).toBe(true)
  expect(losses(first)).toEqual(losses(second))
  const files = ({ output }: TrainResult) => readdirSync(join(output, '..')).toSorted()
  expect(files(first)).toEqual(files(one))
  const record = JSON.parse(readFileSync(join(first.output, '../run.json'), 'utf8')) as unknown
  expect(record).toMatchObject({
    ranks: { count: 2, transport: 'shared memory', parallel: 'data' },
    hardware: expect.stringMatching(/^2 ranks of /),
  })
})

test('tokens per second are those of all ranks', async () => {
  const { metrics } = await bench.run(withRanks(2))
  for (const { slots, seconds, tokens_per_second: rate } of metrics) {
    expect(slots).toBe(4 * 64)
    expect(rate).toBeCloseTo(slots / seconds, 6)
  }
})

test('a run resumes on 4, 2, 1 and 4 ranks with the losses of one rank', async () => {
  const output = join(bench.directory, 'chain')
  const notes: string[] = []
  const chained: number[] = []
  for (const [ranks, steps] of [
    [4, 2],
    [2, 4],
    [1, 6],
    [4, 8],
  ] as const) {
    // The schedule is that of 8 steps in each part.
    const settings = withRanks(ranks, {
      output_dir: output,
      max_steps: steps,
      lr_scheduler_type: 'constant',
      resume: steps > 2,
      // As in the first part: the checkpoint determines the micro-batches of a step.
      gradient_accumulation_steps: 1,
    })
    chained.push(...losses(await bench.run(settings, { onNote: line => notes.push(line) })))
  }
  const constant = await bench.run(withRanks(1, { lr_scheduler_type: 'constant' }))
  expect(distance(chained, losses(constant))).toBeLessThan(1e-4)
  expect(chained).toHaveLength(8)
  expect(notes.filter(line => line.startsWith('the checkpoint is of'))).toEqual([
    'the checkpoint is of 4 ranks: its steps of 4 micro-batches continue on 2 ranks, at most 2 each',
    'the checkpoint is of 2 ranks: its steps of 4 micro-batches continue on 1 rank, at most 4 each',
    'the checkpoint is of 1 rank: its steps of 4 micro-batches continue on 4 ranks, at most 1 each',
  ])
})

test('a step is divided unevenly where its micro-batches do not divide, and refused if they are too few', async () => {
  const output = join(bench.directory, 'uneven')
  const settings = { output_dir: output, lr_scheduler_type: 'constant' }
  await bench.run(withRanks(4, { ...settings, max_steps: 2 }))
  const { metrics } = await bench.run(
    withRanks(3, { ...settings, gradient_accumulation_steps: 1, max_steps: 4, resume: true }),
  )
  expect(metrics.map(({ slots }) => slots)).toEqual([4 * 64, 4 * 64])
  await expect(
    bench.run(withRanks(5, { ...settings, gradient_accumulation_steps: 1, max_steps: 6, resume: true })),
  ).rejects.toThrow(/^ranks: .* have 4 micro-batches, too few for 5 ranks; use at most 4$/)
})

test('ranks divide an evaluation, and all know its result', async () => {
  const settings: Settings = { eval_split: 6, eval_steps: 2, early_stopping_patience: 1 }
  const [one, two] = [await bench.run(withRanks(1, settings)), await bench.run(withRanks(2, settings))]
  expect(two.evaluations.map(({ step, tokens }) => [step, tokens])).toEqual(
    one.evaluations.map(({ step, tokens }) => [step, tokens]),
  )
  expect(distance(evaluated(two), evaluated(one))).toBeLessThan(1e-4)
  expect(two.steps).toBe(one.steps)
})

const evaluated = ({ evaluations }: TrainResult) => evaluations.map(({ loss }) => loss)

test('an error that every rank has is reported once, with its own class', async () => {
  await expect(bench.run(withRanks(2, { memory_limit: '100MB' }))).rejects.toMatchObject({
    name: 'OutOfMemoryError',
    message: expect.stringMatching(/^OOM: this run needs/),
  })
})

/** The processes of the ranks that this process started. */
function rankProcesses(): number[] {
  const text = execFileSync('ps', ['-o', 'pid=,ppid=,args=', '-A'], { encoding: 'utf8' })
  return text
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(
      ([, parent, ...args]) => Number(parent) === process.pid && args.join(' ').includes('rank-process'),
    )
    .map(([pid]) => Number(pid))
    .toSorted((a, b) => a - b)
}

describe('a killed rank', () => {
  test.each(everyNth(3, [0, 1, 2]))(
    'rank %i ends the run with the reason of every rank, and nothing saved is lost',
    async victim => {
      const output = join(bench.directory, `killed-${victim}`)
      const settings = withRanks(3, {
        output_dir: output,
        gradient_accumulation_steps: 1,
        max_steps: 400,
        save_steps: 1,
      })
      let killed = 0
      // A different step in every run of this test.
      const fatal = 2 + Math.floor(Math.random() * 6)
      const error = await bench
        .run(settings, {
          onStep({ step }) {
            if (killed > 0 || step < fatal) return
            const pid = rankProcesses()[victim]
            if (pid === undefined) return
            killed = performance.now()
            process.kill(pid, 'SIGKILL')
          },
        })
        .then(
          () => undefined,
          (reason: unknown) => reason,
        )
      const seconds = (performance.now() - killed) / 1000
      expect(error).toBeInstanceOf(RanksError)
      const others = [0, 1, 2].filter(rank => rank !== victim)
      const { message } = error as Error
      expect(message).toMatch(
        new RegExp(
          `^the run stopped after step \\d+ of 400: rank ${victim} was killed by SIGKILL; ` +
            `.*the state after step \\d+ is saved: continue with --resume$`,
        ),
      )
      for (const rank of others)
        expect(message).toMatch(new RegExp(`ranks? (?:\\d and )?${rank}(?: and \\d)? ended while waiting`))
      expect(seconds, `after step ${fatal}`).toBeLessThan(10)
      expect(rankProcesses()).toEqual([])
      const steps = (await readMetrics(output)).length
      const resumed = await bench.run({ ...settings, max_steps: steps + 2, resume: true })
      expect(resumed.status).toBe('finished')
      expect(resumed.metrics.length).toBeLessThanOrEqual(3)
    },
  )
})

test('an abort stops all ranks after the same step, and the run resumes', async () => {
  const output = join(bench.directory, 'interrupted')
  const settings = withRanks(2, { output_dir: output, max_steps: 400 })
  const interrupt = new AbortController()
  const stopped = await bench.run(settings, {
    signal: interrupt.signal,
    onStep: ({ step }) => {
      if (step === 3) interrupt.abort(new Error('enough'))
    },
  })
  expect(stopped.status).toBe('interrupted')
  const resumed = await bench.run({ ...settings, max_steps: stopped.steps + 1, resume: true })
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
  const settings = {
    method: 'dpo',
    dataset: pairs,
    compute_dtype: 'f32',
    per_device_train_batch_size: 2,
    max_steps: 4,
  }
  const run = async (ranks: number) => {
    vi.stubEnv('XDG_CACHE_HOME', join(bench.directory, `cache-${ranks}`))
    return await bench.run(withRanks(ranks, settings))
  }
  const [one, two] = [await run(1), await run(2)]
  expect(distance(losses(two), losses(one))).toBeLessThan(1e-5)
  for (const [i, { rewards_margin: margin = NaN, rewards_accuracy: accuracy }] of two.metrics.entries()) {
    expect(margin).toBeCloseTo(one.metrics[i]?.rewards_margin ?? NaN, 5)
    expect(accuracy).toBe(one.metrics[i]?.rewards_accuracy)
  }
})

describe.skipIf(findNvcc(nvccCandidates(process.env)) === undefined)('on emulated cards', () => {
  const settings: Settings = {
    device: 'cuda',
    max_seq_length: 32,
    max_steps: 2,
    lora_rank: 4,
    lora_target_modules: 'q_proj',
  }
  const onCards = async (ranks: number, nccl?: string) => {
    vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
    vi.stubEnv('CAIRN_EMULATOR_CARDS', '2')
    vi.stubEnv('CAIRN_TUNE_NCCL', nccl)
    const notes: string[] = []
    const given = withRanks(ranks, { ...settings, gradient_accumulation_steps: 2 / ranks })
    return { notes, result: await bench.run(given, { onNote: line => notes.push(line) }) }
  }

  test('2 cards have the losses of one, by NCCL or without it, and a missing library is named', async () => {
    const [one, without] = [await onCards(1), await onCards(2, '/nowhere/libnccl.so.2')]
    const byNccl = await onCards(2, await buildEmulatedNccl())
    expect(without.notes.join()).toMatch(
      /gradients pass through the memory of the host: NCCL was not found \(.*\); install libnccl2, or name/,
    )
    expect(byNccl.notes.join()).not.toContain('gradients pass')
    expect(distance(losses(without.result), losses(one.result))).toBeLessThan(1e-6)
    expect(adapterOf(byNccl.result).equals(adapterOf(without.result))).toBe(true)
  })
})
