/** A rank that is killed or hangs ends the run in time, and the run resumes as if nothing had happened. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { readMetrics } from '@cairn-tune/train'
import { checkLoss, createBlow, failureOf, type Blow } from './rank-losses.ts'
import { rankProcesses, withRanks, type Settings } from './rank-runs.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const RANKS = 4
const lost = { ranks: RANKS, savesLast: true }
const settings = (ranks: number, more: Settings): Settings =>
  withRanks(ranks, {
    dataset: bench.writeTexts('texts', textsOf(32, 30)),
    lr_scheduler_type: 'constant',
    save_steps: 2,
    ...more,
  })

const BLOWS: readonly Blow[] = [
  { rank: 2, when: 'start' },
  { rank: 3, when: 1 },
  { rank: 0, when: 'checkpoint' },
  { rank: 1, when: 2 },
  { rank: 0, when: 3 },
  { rank: 3, when: 'checkpoint' },
  { rank: 2, when: 4 },
  { rank: 0, when: 'start' },
  { rank: 1, when: 3 },
  { rank: 0, when: 1 },
]

test('4 ranks that lose one at each of ten moments have the losses of one rank that loses none', async () => {
  const output = join(bench.directory, 'killed')
  const chained: number[] = []
  let saved = 0
  const blows = everyNth(3, BLOWS)
  for (const blow of blows) {
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
  const last = await bench.run(settings(RANKS, { output_dir: output, max_steps: saved + 2, resume: true }))
  const whole = await bench.run(settings(1, { max_steps: saved + 2 }))
  expect([...chained, ...losses(last)]).toEqual(losses(whole))
})

test('a rank that hangs counts as lost after rank_timeout, and the run resumes', async () => {
  const output = join(bench.directory, 'hung')
  const [blow, timeout] = [{ rank: 1, when: 2 }, 4]
  const { struck, options } = createBlow(blow, 'SIGSTOP', output)
  const given = settings(RANKS, { output_dir: output, max_steps: 400, rank_timeout: timeout })
  const error = await failureOf(bench.run(given, options))
  const seconds = (performance.now() - (struck.at ?? 0)) / 1000
  expect(seconds).toBeGreaterThan(timeout - 1.5)
  expect(seconds).toBeLessThan(timeout + 10)
  const reason = `gave no sign of life for ${timeout} s \\(rank_timeout\\)`
  const saved = await checkLoss(error, { ...lost, blow, reason, output })
  expect(rankProcesses()).toEqual([])
  const last = await bench.run(settings(1, { output_dir: output, max_steps: saved + 1, resume: true }))
  const whole = await bench.run(settings(1, { max_steps: saved + 1 }))
  expect([...(await readMetrics(output)).slice(0, saved).map(({ loss }) => loss), ...losses(last)]).toEqual(
    losses(whole),
  )
})
