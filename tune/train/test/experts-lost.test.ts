/**
 * A rank that is killed or hangs while the experts are divided: no other rank has its experts, so the run
 * ends in time and continues from the last checkpoint as if nothing had happened.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FAMILIES } from '@cairn-tune/models'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { readMetrics, writeModelFromConfig } from '@cairn-tune/train'
import { checkLoss, createBlow, failureOf, type Blow } from './rank-losses.ts'
import { SMALL_EXPERTS, adapterOf, rankProcesses, withRanks, type Settings } from './rank-runs.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const model = join(bench.directory, 'experts')
await writeModelFromConfig(
  model,
  { ...FAMILIES.qwen3_moe.defaults, ...SMALL_EXPERTS, model_type: 'qwen3_moe' },
  1,
)
const dataset = bench.writeTexts('texts', textsOf(40, 30))
const RANKS = 4
const lost = { ranks: RANKS, savesLast: false }
const settings = (ranks: number, more: Settings): Settings =>
  withRanks(ranks, {
    model,
    dataset,
    max_seq_length: 48,
    lora_rank: 4,
    lora_expert_rank: 2,
    lr_scheduler_type: 'constant',
    save_steps: 2,
    expert_parallel: ranks,
    ...more,
  })

/**
 * Every third one, from each of the first three, ends with a loss after two checkpoints. `later`, drawn:
 * within a step a rank computes, sends rows, or waits for those of another.
 */
const KILLS: readonly Blow[] = [
  { rank: 1, when: 3, later: 0.37 },
  { rank: 3, when: 'checkpoint' },
  { rank: 1, when: 1, later: 0.95 },
  { rank: 2, when: 'start' },
  { rank: 3, when: 4, later: 0.11 },
  { rank: 0, when: 'checkpoint' },
  { rank: 2, when: 5, later: 0.64 },
  { rank: 0, when: 5, later: 0.82 },
  { rank: 0, when: 6, later: 0.5 },
  { rank: 1, when: 'checkpoint' },
]

test('4 ranks that lose experts at each of ten moments have the bits of one that loses none', async () => {
  const output = join(bench.directory, 'killed')
  const chained: number[] = []
  let saved = 0
  for (const blow of everyNth(3, KILLS)) {
    const { struck, options } = createBlow(blow, 'SIGKILL', output)
    const given = settings(RANKS, { output_dir: output, max_steps: 400, resume: existsSync(output) })
    const error = await failureOf(bench.run(given, options))
    expect((performance.now() - (struck.at ?? 0)) / 1000, JSON.stringify(blow)).toBeLessThan(10)
    const newest = await checkLoss(error, { ...lost, blow, reason: 'was killed by SIGKILL', output })
    expect(newest).toBeGreaterThanOrEqual(struck.saved)
    expect(rankProcesses()).toEqual([])
    const kept = (await readMetrics(output)).filter(({ step }) => step > saved && step <= newest)
    chained.push(...kept.map(({ loss }) => loss))
    saved = newest
  }
  const more = { max_steps: saved + 2 }
  const last = await bench.run(settings(RANKS, { ...more, output_dir: output, resume: true }))
  const whole = await bench.run(settings(1, more))
  expect([...chained, ...losses(last)]).toEqual(losses(whole))
  expect(adapterOf(last).equals(adapterOf(whole))).toBe(true)
})

const HANGS: readonly Blow[] = [
  { rank: 1, when: 2, later: 0.3 },
  { rank: 0, when: 3, later: 0.7 },
  { rank: 3, when: 'checkpoint' },
]

test.each(everyNth(3, HANGS))('%j: a rank that hangs with its experts counts as lost', async blow => {
  // On a busy machine a rank that does not hang is soon silent for as long as one that does.
  const timeout = 8
  const output = join(bench.directory, `hung-${HANGS.indexOf(blow)}`)
  const { struck, options } = createBlow(blow, 'SIGSTOP', output)
  const given = settings(RANKS, { output_dir: output, max_steps: 400, rank_timeout: timeout })
  const error = await failureOf(bench.run(given, options))
  expect(struck.at, error.message).toBeDefined()
  const seconds = (performance.now() - (struck.at ?? 0)) / 1000
  expect(seconds).toBeGreaterThan(timeout - 1.5)
  expect(seconds).toBeLessThan(timeout + 10)
  const reason = `gave no sign of life for ${timeout} s \\(rank_timeout\\)`
  const saved = await checkLoss(error, { ...lost, blow, reason, output })
  expect(saved).toBeGreaterThanOrEqual(struck.saved)
  expect(rankProcesses()).toEqual([])
  const kept = (await readMetrics(output)).slice(0, saved).map(({ loss }) => loss)
  // Two ranks divide the experts again.
  const more = { max_steps: saved + 1 }
  const last = await bench.run(settings(2, { ...more, output_dir: output, resume: true }))
  const whole = await bench.run(settings(1, more))
  expect([...kept, ...losses(last)]).toEqual(losses(whole))
  expect(adapterOf(last).equals(adapterOf(whole))).toBe(true)
})
